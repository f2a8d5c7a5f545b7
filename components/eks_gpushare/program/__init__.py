"""Running a Pulumi program in this process, without the CLI, the engine or a cloud.

`run.run_program` runs it and returns a `recording.Recording`; `stack_config.stack_config` reads the
configuration it needs from a stack file; `analyzer.run_pack` runs policies over the recording.
Import them from their modules: this package imports nothing by itself.
"""
