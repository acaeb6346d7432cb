"""The database: no password, no plain text, no loss, and no statement in its log."""

from collections.abc import Iterator
from typing import Any

from tests.infra.assertion import about_the_stack, of_type, properties
from tests.infra.stack import Template

# Property -> what it must be, and what is wrong otherwise.
WANTED: dict[str, tuple[Any, str]] = {
    "Engine": ("postgres", "it is not PostgreSQL"),
    "MasterUserAuthenticationType": ("iam-db-auth", "the master user has a password"),
    "EnableIAMDatabaseAuthentication": (True, "nobody can log in"),
    "StorageEncrypted": (True, "its storage is in clear"),
    "PubliclyAccessible": (False, "it has a public address"),
    "DeletionProtection": (True, "it can be deleted by a stack"),
    "AutoMinorVersionUpgrade": (True, "it is not patched"),
    "VPCSecurityGroups": (["DatabaseSecurityGroup.GroupId"], "its security group is another"),
    "DBParameterGroupName": ("DatabaseParameters", "its parameters are the defaults"),
}
# Parameter -> what it must be, and what is wrong otherwise.
PARAMETERS = {
    "rds.force_ssl": ("1", "it takes plain text"),
    "log_statement": ("none", "its log holds statements"),
    "log_min_duration_statement": ("-1", "its log holds slow statements"),
    "log_min_error_statement": ("panic", "its log holds statements that failed"),
    "log_error_verbosity": ("terse", "its log quotes values in DETAIL"),
}


@about_the_stack
def it_is_closed_encrypted_and_without_password(stack: Template) -> Iterator[str]:
    for database in of_type(stack, "AWS::RDS::DBInstance").values():
        for name, (wanted, complaint) in WANTED.items():
            if database.get(name) != wanted:
                yield complaint
        if database.keys() & {"MasterUserPassword", "ManageMasterUserPassword"}:
            yield "there is a password"
        if database.get("EnablePerformanceInsights"):
            yield "Performance Insights shows the text of statements"


@it_is_closed_encrypted_and_without_password.broken
def a_password(stack: Template) -> None:
    database = properties(stack, "Database")
    del database["MasterUserAuthenticationType"]
    database["MasterUserPassword"] = "hunter2"


@it_is_closed_encrypted_and_without_password.broken
def a_public_address(stack: Template) -> None:
    properties(stack, "Database")["PubliclyAccessible"] = True


@it_is_closed_encrypted_and_without_password.broken
def storage_in_clear(stack: Template) -> None:
    del properties(stack, "Database")["StorageEncrypted"]


@about_the_stack
def it_outlives_mistakes(stack: Template) -> Iterator[str]:
    for name, database in of_type(stack, "AWS::RDS::DBInstance").items():
        resource = stack["Resources"][name]
        if {resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")} != {"Snapshot"}:
            yield "it goes without a snapshot"
        if database.get("BackupRetentionPeriod", 1) < 7:
            yield "its backups are kept for less than a week"
        # An update that would replace a named instance fails; an unnamed one is replaced, empty.
        if not str(database.get("DBInstanceIdentifier")).startswith("shortterm-0a1b2c3d"):
            yield "an update may replace it"
        if not database.get("MaxAllocatedStorage", 0) > int(database["AllocatedStorage"]):
            yield "it may run out of storage"


@it_outlives_mistakes.broken
def deleted_with_the_stack(stack: Template) -> None:
    stack["Resources"]["Database"]["DeletionPolicy"] = "Delete"


@it_outlives_mistakes.broken
def no_backups(stack: Template) -> None:
    properties(stack, "Database")["BackupRetentionPeriod"] = 0


@it_outlives_mistakes.broken
def without_a_name(stack: Template) -> None:
    del properties(stack, "Database")["DBInstanceIdentifier"]


@about_the_stack
def it_speaks_tls_and_logs_no_statement(stack: Template) -> Iterator[str]:
    for database in of_type(stack, "AWS::RDS::DBInstance").values():
        group = properties(stack, "DatabaseParameters")
        for name, (wanted, complaint) in PARAMETERS.items():
            if group["Parameters"].get(name) != wanted:
                yield complaint
        major = database["EngineVersion"]
        if group["Family"] != f"postgres{major}":
            yield "its parameters are for another version"
        # The design asks for 16 or later; a minor version here would fight RDS's own upgrades.
        if not major.isdigit() or int(major) < 16:
            yield f"{major} is not a major version from 16 on"


@it_speaks_tls_and_logs_no_statement.broken
def plain_text_taken(stack: Template) -> None:
    properties(stack, "DatabaseParameters")["Parameters"]["rds.force_ssl"] = "0"


@it_speaks_tls_and_logs_no_statement.broken
def failed_statements_logged(stack: Template) -> None:
    del properties(stack, "DatabaseParameters")["Parameters"]["log_min_error_statement"]


@it_speaks_tls_and_logs_no_statement.broken
def another_version(stack: Template) -> None:
    properties(stack, "Database")["EngineVersion"] = "17.6"
