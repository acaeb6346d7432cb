"""The fault harness: turns over HTTP while everything behind breaks, and an exact account after."""
