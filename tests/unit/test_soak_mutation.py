"""The mutations of the fault harness still find what they take out."""

import filecmp

import pytest

from local.functions import CODE
from soak.mutation import MUTATIONS, mutated


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_changes_one_file_and_that_still_compiles(name, tmp_path):
    copy = mutated(name, tmp_path)
    changed = [
        str(path.relative_to(copy))
        for path in copy.rglob("*.py")
        if not filecmp.cmp(path, CODE / path.relative_to(copy), shallow=False)
    ]
    assert changed == [MUTATIONS[name].file]
    file = copy / changed[0]
    compile(file.read_text(), file, "exec")


def test_a_mutation_of_text_that_is_gone_is_an_error(tmp_path, monkeypatch):
    gone = MUTATIONS["ledger"]._replace(text="no such text")
    monkeypatch.setattr("soak.mutation.MUTATIONS", {"gone": gone})
    with pytest.raises(LookupError):
        mutated("gone", tmp_path)
