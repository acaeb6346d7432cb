"""The queue between capture and writer: nothing lost, handed out twice, or in clear."""

from collections.abc import Iterator

from tests.infra.assertion import about_the_stack, as_list, functions, of_type, properties
from tests.infra.stack import Template

FOURTEEN_DAYS = 14 * 24 * 3600


def _mapping(stack: Template) -> dict:
    [mapping] = of_type(stack, "AWS::Lambda::EventSourceMapping").values()
    return mapping


@about_the_stack
def a_batch_in_work_is_not_handed_out_again(stack: Template) -> Iterator[str]:
    mapping = _mapping(stack)
    timeout = functions(stack)[mapping["FunctionName"]]["Timeout"]
    least = 6 * timeout + mapping["MaximumBatchingWindowInSeconds"]
    visibility = properties(stack, "WorkQueue")["VisibilityTimeout"]
    if visibility < least:
        yield f"visibility of {visibility} s is less than 6 x timeout + window = {least} s"


@a_batch_in_work_is_not_handed_out_again.broken
def visibility_too_short(stack: Template) -> None:
    properties(stack, "WorkQueue")["VisibilityTimeout"] = 184


@a_batch_in_work_is_not_handed_out_again.broken
def timeout_raised_alone(stack: Template) -> None:
    properties(stack, "WriterFunction")["Timeout"] = 60


@about_the_stack
def what_fails_is_kept_in_the_dead_letter_queue(stack: Template) -> Iterator[str]:
    work, dead = (properties(stack, name) for name in ("WorkQueue", "DeadLetterQueue"))
    redrive = work.get("RedrivePolicy", {})
    if redrive.get("deadLetterTargetArn") != "DeadLetterQueue.Arn":
        yield "the work queue does not redrive to the dead-letter queue"
    if redrive.get("maxReceiveCount", 0) < 5:
        yield "an outage of minutes makes dead letters"
    # The age of a dead letter counts from when it was first sent.
    if dead["MessageRetentionPeriod"] < work["MessageRetentionPeriod"]:
        yield "a dead letter may be gone before work of its age"
    if dead["MessageRetentionPeriod"] != FOURTEEN_DAYS:
        yield "dead letters are not kept for 14 days"


@what_fails_is_kept_in_the_dead_letter_queue.broken
def no_redrive(stack: Template) -> None:
    del properties(stack, "WorkQueue")["RedrivePolicy"]


@what_fails_is_kept_in_the_dead_letter_queue.broken
def redrive_after_one_receive(stack: Template) -> None:
    properties(stack, "WorkQueue")["RedrivePolicy"]["maxReceiveCount"] = 1


@what_fails_is_kept_in_the_dead_letter_queue.broken
def dead_letters_kept_for_four_days(stack: Template) -> None:
    properties(stack, "DeadLetterQueue")["MessageRetentionPeriod"] = 4 * 24 * 3600


@about_the_stack
def queues_are_standard_and_encrypted_and_refuse_plain_http(stack: Template) -> Iterator[str]:
    refusing = {
        queue
        for policy in of_type(stack, "AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        for queue in policy["Queues"]
        if statement["Effect"] == "Deny"
        and statement["Principal"] == "*"
        and statement["Action"] == "sqs:*"
        and statement["Resource"] == f"{queue}.Arn"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    for name, queue in of_type(stack, "AWS::SQS::Queue").items():
        if name not in refusing:
            yield f"{name} takes plain HTTP"
        if queue.get("SqsManagedSseEnabled") is not True:
            yield f"{name} is not encrypted"
        if queue.get("FifoQueue"):
            yield f"{name} is a FIFO queue"


@queues_are_standard_and_encrypted_and_refuse_plain_http.broken
def no_queue_policy(stack: Template) -> None:
    del stack["Resources"]["DeadLetterQueuePolicy"]


@queues_are_standard_and_encrypted_and_refuse_plain_http.broken
def plain_http_is_what_is_allowed(stack: Template) -> None:
    [statement] = properties(stack, "WorkQueuePolicy")["PolicyDocument"]["Statement"]
    statement["Condition"]["Bool"]["aws:SecureTransport"] = "true"


@queues_are_standard_and_encrypted_and_refuse_plain_http.broken
def not_encrypted(stack: Template) -> None:
    properties(stack, "WorkQueue")["SqsManagedSseEnabled"] = False


@about_the_stack
def one_bad_message_comes_back_alone(stack: Template) -> Iterator[str]:
    mapping = _mapping(stack)
    if "ReportBatchItemFailures" not in as_list(mapping.get("FunctionResponseTypes", [])):
        yield "a failure is ignored: the writer's answer is not read"
    if mapping["BatchSize"] > 10 and mapping["MaximumBatchingWindowInSeconds"] < 1:
        yield "a batch of more than ten needs a window"
    if mapping["EventSourceArn"] != "WorkQueue.Arn" or mapping["FunctionName"] != "WriterFunction":
        yield "the writer does not read the work queue"


@one_bad_message_comes_back_alone.broken
def failures_not_reported(stack: Template) -> None:
    del _mapping(stack)["FunctionResponseTypes"]


@one_bad_message_comes_back_alone.broken
def no_window(stack: Template) -> None:
    _mapping(stack)["MaximumBatchingWindowInSeconds"] = 0


@about_the_stack
def the_queue_starts_no_more_writers_than_are_reserved(stack: Template) -> Iterator[str]:
    maximum = _mapping(stack).get("ScalingConfig", {}).get("MaximumConcurrency")
    reserved = properties(stack, "WriterFunction").get("ReservedConcurrentExecutions")
    if maximum is None:
        yield "nothing limits the writers, which are connections to the database"
    elif reserved is not None and reserved < maximum:
        yield f"{maximum} writers may start and {reserved} are reserved: batches are throttled"


@the_queue_starts_no_more_writers_than_are_reserved.broken
def fewer_reserved(stack: Template) -> None:
    properties(stack, "WriterFunction")["ReservedConcurrentExecutions"] = 2


@the_queue_starts_no_more_writers_than_are_reserved.broken
def no_maximum(stack: Template) -> None:
    del _mapping(stack)["ScalingConfig"]
