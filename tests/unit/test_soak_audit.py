"""The audit of the fault harness: each rule broken once."""

import pytest

from soak.account import account
from soak.audit import Row, Run, audit, expected_rows
from soak.outboxes import lost
from soak.stream import ScopeId, Turn

USERS = ScopeId("user", "u", "c", "7")
SERVERS = ScopeId("server", "g", "c", "7")
DIRECT = ScopeId("user", "u", "dm", None)


def turn(turn_id: str, lineages: dict[ScopeId, str | None], *live: ScopeId) -> Turn:
    return Turn(turn_id, b"", lineages, frozenset(live))


POSTED = {
    it.turn_id: it
    for it in (
        turn("t1", {USERS: None, SERVERS: None}, SERVERS),
        turn("t2", {USERS: "3", SERVERS: "3"}, SERVERS),
        turn("t3", {DIRECT: None}, DIRECT),
        turn("skip", {}),
    )
}
ALL = {"t1", "t2", "t3"}
ROWS = {USERS: Row(0, "3"), SERVERS: Row(2, "3"), DIRECT: Row(1, None)}


def run(**found) -> Run:
    """What a run leaves behind in which all went well, but for what is given."""
    well = {
        "posted": POSTED,
        "captured": ALL,
        "queued": {"t1", "t2"},
        "skipped": {"skip"},
        "failed": set(),
        "accepted": ALL,
        "ledger": ALL,
        "rows": list(ROWS.items()),
        "lost_outboxes": [],
        "dead": {"poison"},
        "poison": {"poison"},
        "left_in_queue": 0,
        "open_transactions": 0,
        "faults_missed": [],
        "dishonest_reads": 0,
        "slowest_recall_ms": 20.0,
        "machine_ms": 10.0,
    }
    return Run(**well | found)


def without_t3(**found) -> Run:
    """A run in which the work of one turn never reached SQS."""
    rows = [(scope, row) for scope, row in ROWS.items() if scope != DIRECT]
    return run(accepted=ALL - {"t3"}, ledger=ALL - {"t3"}, rows=rows, **found)


def rows(**changed) -> list[tuple[ScopeId, Row]]:
    """The rows, with the server's as given."""
    return [*(ROWS | {SERVERS: ROWS[SERVERS]._replace(**changed)}).items()]


def test_nothing_is_wrong_when_all_is_well():
    assert audit(run()) == []


def test_a_row_counts_the_live_turns_and_has_the_lineage_that_any_turn_told():
    assert expected_rows(list(POSTED.values())) == ROWS


BROKEN = {
    "1 turns without 202": run(captured=ALL - {"t3"}),
    "1 turns that could not be remembered": run(failed={"t1"}),
    "1 turns skipped without a reason": run(skipped={"skip", "t1"}),
    "1 turns captured that had to be skipped": run(captured=ALL | {"skip"}, lost_outboxes=[1]),
    "1 turns told to be queued that SQS never accepted": without_t3(
        queued={"t3"}, lost_outboxes=[1]
    ),
    "1 accepted turns that nobody posted": run(accepted=ALL | {"t9"}, ledger=ALL | {"t9"}),
    "1 turns missing, but outboxes of killed containers held 0": without_t3(),
    "1 accepted turns missing in the ledger (t3)": run(ledger=ALL - {"t3"}),
    "1 turns in the ledger that SQS never accepted (poison)": run(ledger=ALL | {"poison"}),
    "1 scopes with several rows": run(rows=[*ROWS.items(), (DIRECT, ROWS[DIRECT])]),
    "1 scopes without row": run(rows=list(ROWS.items())[:-1]),
    "1 rows of no accepted turn": run(
        rows=[*ROWS.items(), (ScopeId("user", "x", "c", None), Row(0, None))]
    ),
    "3 turns counted too often in 1 rows": run(rows=rows(turns=5)),
    "2 turns not counted in 1 rows": run(rows=rows(turns=0)),
    "1 rows with a wrong lineage or none": run(rows=rows(lineage_id=None)),
    "1 poison messages missing in the dead-letter queue": run(poison={"poison", "other"}),
    "1 good messages in the dead-letter queue": run(dead={"poison", "work"}),
    "1 messages left in the queue": run(left_in_queue=1),
    "1 open transactions": run(open_transactions=1),
    "a fault that did not happen: deadlock": run(faults_missed=["deadlock"]),
    "1 reads without Postgres that did not say so": run(dishonest_reads=1),
    "a read took 1,500 ms while Postgres was down": run(slowest_recall_ms=1500.0),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_what_breaks_a_rule_is_named_and_nothing_else(rule):
    assert audit(BROKEN[rule]) == [rule]


def test_a_slow_machine_is_no_slow_read():
    assert audit(run(slowest_recall_ms=1500.0, machine_ms=700.0)) == []


def test_what_a_killed_container_took_along_may_be_missing():
    assert audit(without_t3(lost_outboxes=[0, 1])) == []


def test_the_account_is_one_line_that_begins_with_what_is_wrong():
    line = account("soak", run(), {202: 3, 502: 1}, [])
    assert line == (
        "soak: 4 posts, all 202 in the end (1 x 502 on the way); 3 accepted, each counted once on"
        " its live scope; 0 missing (outboxes of 0 killed containers held 0); 1 dead letters, all"
        " poison and all the poison; 3 rows, as expected, lineages set; 0 open transactions"
    )
    assert account("soak", run(), {202: 3}, ["all lost"]).startswith("soak: MISMATCH: all lost; ")


COLD = '{"service":"capture","ColdStarts":[1.0]}'


def waiting(count: int, more: str = "") -> str:
    return '{"service":"capture","WorkWaiting":[' + f"{count}.0]" + more + "}"


def test_what_a_container_took_along_is_its_last_word():
    first = [waiting(0, ',"ColdStarts":[1.0]'), "a line of another kind", waiting(4), waiting(3)]
    second = [COLD, waiting(7)]
    log = "\n".join([*first, *second])
    assert lost([(log, False)]) == [3, 7]
    assert lost([(log, True)]) == [3]


def test_a_container_that_never_captured_took_nothing_along():
    assert lost([(COLD, False), ("", False)]) == [0]
