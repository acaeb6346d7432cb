"""The deployment function: CloudFormation -> schema function, on every deploy."""
