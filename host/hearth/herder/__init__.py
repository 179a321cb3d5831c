"""The herder: decides what runs on this host, and knows how what runs is doing.

`herder` is the front: what users ask of a connector goes onto that connector's `lane` and happens in order.
`lifecycle` carries it out. `connector` is one connector's instance, living in a `stage` process beside the
host; `crew` holds the tasks and `task` one of them, launched on Spark, launched again when its executor is
lost. `plugin` turns names into plugins and environments, `pipeline` a configuration into what a task's run is
told. `validation` checks configurations: `definition` and `enrichment` gather the keys, `description` asks
plugins for theirs and `examination` lets them check their values, `override` judges client settings and `result`
puts the outcome into Kafka Connect's form.
`status` writes and reads what is said of all of them; `seat` is the host's end of the links to the runs.
"""
