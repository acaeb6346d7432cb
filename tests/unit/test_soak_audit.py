"""The audit of the fault harness: each rule broken once."""

import pytest

from soak.account import account
from soak.audit import Row, Run, audit, expected_rows
from soak.bounds import tries_within
from soak.faults import Fault, Missed
from soak.outboxes import lost
from soak.stream import ScopeId, Turn

USERS = ScopeId("user", "u", "c", "7")
SERVERS = ScopeId("server", "g", "c", "7")
DIRECT = ScopeId("user", "u", "dm", None)


BEGAN = 1_000


def turn(
    turn_id: str,
    lineages: dict[ScopeId, str | None],
    *live: ScopeId,
    occurred_at: int | None = None,
) -> Turn:
    return Turn(turn_id, b"", lineages, frozenset(live), occurred_at)


POSTED = {
    it.turn_id: it
    for it in (
        turn("t1", {USERS: None, SERVERS: None}, SERVERS, occurred_at=20),
        turn("t2", {USERS: "3", SERVERS: "3"}, SERVERS, occurred_at=10),
        turn("t3", {DIRECT: None}, DIRECT),
        turn("skip", {}),
    )
}
ALL = {"t1", "t2", "t3"}
ROWS = {USERS: Row(0, "3", 20), SERVERS: Row(2, "3", 20), DIRECT: Row(1, None, BEGAN + 5)}


def run(**found) -> Run:
    """What a run leaves behind in which all went well, but for what is given."""
    well = {
        "began_at": BEGAN,
        "posted": POSTED,
        "statuses": {202: 4},
        "captured": ALL,
        "queued": {"t1", "t2"},
        "skipped": {"skip"},
        "failed": set(),
        "accepted": ALL,
        "ledger": ALL,
        "rows": list(ROWS.items()),
        "lost_outboxes": [],
        "captures_killed": 2,
        "dead": {"poison"},
        "poison": {"poison"},
        "left_in_queue": 0,
        "open_transactions": 0,
        "happened": [Fault.SQS_HANGS],
        "missed": [],
        "repeats": 1,
        "redelivered": 2,
        "late": 3,
        "dishonest_reads": 0,
        "slow_reads": 0,
        "impatient_tries": 0,
        "hanging_ms": 2_100.0,
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


def test_a_row_has_the_number_of_live_turns_the_lineage_that_any_told_and_the_latest_time():
    # When a turn occurred that does not say so only its capture knows.
    expected = ROWS | {DIRECT: Row(1, None, None)}
    assert expected_rows(list(POSTED.values())) == expected


BROKEN = {
    "1 turns without 202": run(captured=ALL - {"t3"}),
    "1 turns that could not be remembered": run(failed={"t1"}),
    "1 turns skipped without a reason": run(skipped={"skip", "t1"}),
    "1 turns captured that had to be skipped": run(captured=ALL | {"skip"}, lost_outboxes=[1]),
    "1 turns told to be queued that SQS never accepted": without_t3(
        queued={"t3"}, lost_outboxes=[1]
    ),
    "3 answers of status 500": run(statuses={202: 4, 500: 3}),
    "3 posts without answer, but 2 containers killed": run(statuses={202: 4, 502: 3}),
    "1 containers that died by themselves": run(lost_outboxes=[0, 0, 0]),
    "1 accepted turns that nobody posted": run(accepted=ALL | {"t9"}, ledger=ALL | {"t9"}),
    "1 turns missing, but outboxes of killed containers held 0": without_t3(),
    "1 accepted turns missing in the ledger (t3)": run(ledger=ALL - {"t3"}),
    "1 turns in the ledger that SQS never accepted (poison)": run(ledger=ALL | {"poison"}),
    "1 scopes with several rows": run(rows=[*ROWS.items(), (DIRECT, ROWS[DIRECT])]),
    "1 scopes without row": run(rows=list(ROWS.items())[:-1]),
    "1 rows of no accepted turn": run(
        rows=[*ROWS.items(), (ScopeId("user", "x", "c", None), Row(0, None, None))]
    ),
    "3 turns counted too often in 1 rows": run(rows=rows(turns=5)),
    "2 turns not counted in 1 rows": run(rows=rows(turns=0)),
    "1 rows with a wrong lineage or none": run(rows=rows(lineage_id=None)),
    "1 rows with another time than their last turn's": run(rows=rows(last_turn_at=10)),
    "1 poison messages missing in the dead-letter queue": run(poison={"poison", "other"}),
    "1 good messages in the dead-letter queue": run(dead={"poison", "work"}),
    "1 messages left in the queue": run(left_in_queue=1),
    "1 open transactions": run(open_transactions=1),
    "a fault that did not happen: SQS hangs (nothing was sent)": run(
        missed=[Missed(Fault.SQS_HANGS, "nothing was sent")]
    ),
    "no killed container held any work": run(happened=[Fault.CAPTURE_LOST], lost_outboxes=[0]),
    "no turn was posted twice": run(repeats=0),
    "no message was redelivered": run(redelivered=0),
    "no message came out of order": run(late=0),
    "1 reads without Postgres that did not say so": run(dishonest_reads=1),
    "1 reads without Postgres that took too long": run(slow_reads=1),
    "1 tries too many of a queue that hangs": run(impatient_tries=1),
    "p99 of posts was 4,000 ms while SQS hung": run(hanging_ms=4_000.0),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_what_breaks_a_rule_is_named_and_nothing_else(rule):
    assert audit(BROKEN[rule]) == [rule]


def test_a_turn_that_says_no_time_occurred_after_the_run_began():
    early = ROWS | {DIRECT: Row(1, None, BEGAN - 1)}
    assert audit(run(rows=list(early.items()))) == [
        "1 rows with another time than their last turn's"
    ]


def test_a_hanging_queue_is_tried_twice_and_then_after_ever_longer_rests():
    begins = [0, 2, 5, 9, 15, 25, 43, 75, 107]
    assert [tries_within(it) for it in begins] == list(range(len(begins)))
    assert tries_within(0.1) == 1


def test_a_bot_may_miss_the_answer_of_a_killed_container():
    assert audit(run(statuses={202: 4, 502: 2})) == []


def test_what_a_killed_container_took_along_may_be_missing():
    assert audit(without_t3(lost_outboxes=[0, 1])) == []


def test_the_account_is_one_line_that_begins_with_what_is_wrong():
    line = account("soak", run(statuses={202: 3, 502: 1}), [])
    assert line == (
        "soak: 4 posts, all 202 in the end (1 x 502 on the way); 3 accepted, each counted once on"
        " its live scope; 0 missing (outboxes of 0 killed containers held 0); 1 dead letters, all"
        " poison and all the poison; 3 rows, as expected, lineages set; 0 open transactions;"
        " faults: 1 x SQS hangs; 1 turns posted twice; 2 messages redelivered, 3 late"
    )
    assert account("soak", run(), ["all lost"]).startswith("soak: MISMATCH: all lost; ")


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
