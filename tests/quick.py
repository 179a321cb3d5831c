"""The quick part of the suite, for use while changing code: unit and contract tests that start nothing.

It leaves out tests that need a broker or Spark, those marked ``slow`` or ``long``, and whole files whose tests start
programs, stages or servers. Properties draw fewer examples (`tests.profile`).
"""

from __future__ import annotations

from collections.abc import Iterable

STARTS_SERVERS = frozenset({"broker", "own_broker", "shop", "s3", "google", "azure", "hdfs"})
"""Fixtures that start a server."""

STARTS_PROGRAMS = tuple(
    f"tests/{place}"
    for folder, names in {
        "contract/": "stage/ staging/ storage/ test_stores",
        "unit/cli/": "test_bundle_command test_distributed_command test_host test_install_command test_main "
        "test_plugin_command test_run_command test_signal_end test_standalone_command",
        "unit/client/": "test_change_plan test_remote_cluster test_rest_client test_rollout test_waiting",
        "unit/datasource/": "test_batch_read test_executor_process test_planning test_spark_column test_stream_read",
        "unit/discovery/": "java/ test_catalogue test_hostile test_python_bundle",
        "unit/foundation/": "test_child test_properties test_lasting_thread",
        "unit/hearth_api/testing/": "test_acceptance",
        "unit/hearth_execution/": "test_stack",
        "unit/hearth_stage/": "test_foreign test_limit test_lineage test_log_output test_namespace test_operation",
        "unit/herder/": "lineage/test_emitter plugin/ test_cluster_lookup test_connector_offset test_crowd "
        "test_failure test_herder test_interruption test_task test_task_link test_variables test_worker_choice "
        "validation/test_connector_validator validation/test_plugin_validator",
        "unit/isolation/": "test_daemon test_environment test_forked_process test_interpreter test_own_processes "
        "test_java_rehearsal test_java_stage test_pylock test_stage",
        "unit/kafka/": "client/test_tls test_access_attempt test_admin test_consumer test_fence test_fetched "
        "test_group_offset test_membership test_producer test_refusal test_token test_topic_reader test_topic_writer "
        "test_transactional_producer",
        "unit/link/": "test_heartbeat",
        "unit/maven/": "test_ivy test_jar",
        "unit/packaging/": "test_audit test_bundle_index test_bundle_source test_description test_index_file "
        "test_installed test_keyless test_pack test_sign test_verify test_yanked",
        "unit/plugins/": "json/test_depth test_golden",
        "unit/rest/": "test_app test_attack test_connector_resource test_document_fuzz test_event_resource "
        "test_extension test_forward test_hearth_resource test_log_resource test_named_path test_offset_resource "
        "test_owner_resource test_page_resource test_plugin_resource test_request_signature test_same_origin "
        "test_server",
        "unit/runtime/": "test_dead_letter test_executor_usage test_path test_shared_runtime test_subscription "
        "test_topic",
        "unit/spark/": "test_job test_spare_daemon test_worker_daemon test_worker_fork",
        "unit/staging/": "test_polled_task",
        "unit/": "test_hatch_build",
    }.items()
    for place in (folder + name for name in names.split())
)
"""Files, folders and beginnings of their names."""


def is_quick(test: str, fixtures: Iterable[str]) -> bool:
    """Return whether a test, by its node id and its fixtures, starts nothing; markers are not looked at."""
    return not (test.startswith(STARTS_PROGRAMS) or STARTS_SERVERS & set(fixtures))
