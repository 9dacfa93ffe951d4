//! Every table: the name of its file, its rows, its columns. Each report has all of them, empty ones as well, so that a
//! script finds what it looks for.

/// File, rows, columns; `select` says how the latter two are written.
pub(super) type Table = (&'static str, &'static str, &'static str);

pub(super) const TABLES: &[Table] = &[
    (
        "summary.csv",
        "",
        "schema_version tool=tool.name tool_version=tool.version run_id=run.id attempt=run.attempt \
         is_foreign=run.is_foreign service=run.service hosts=run.hosts ranks=run.ranks world_size=run.world_size \
         level=run.level started_ns=run.started_ns last_ns=run.last_ns run_elapsed_ns=run.elapsed_ns ended=run.ended \
         ended_by=run.ended_by epochs_started=run.epochs_started epochs_ended=run.epochs_ended traces=run.traces \
         spans=run.spans errors=run.errors verdict=summary.verdict input_verdict=summary.input.verdict \
         input_share=summary.input.share input_in_steps_ns=summary.input.in_steps_ns \
         input_between_ns=summary.input.between_ns input_steps_ns=summary.input.steps_ns \
         input_steps=summary.input.steps mode=summary.mode \
         steps=summary.steps warmup_steps=summary.warmup_steps steps_ns=summary.steps_ns \
         whole_steps=summary.whole.steps whole_steps_ns=summary.whole.total_ns \
         unattributed_ns=summary.unattributed_ns batches=detailed_metrics.batches.count \
         spans_dropped=losses.dropped_total spans_lost=losses.lost spans_absent=losses.absent \
         recorded_steps=summary.coverage.recorded_steps read_steps=summary.coverage.read_steps \
         read_whole_steps=summary.coverage.whole_steps unread_because=summary.coverage.unread_because \
         parts_because=summary.coverage.parts_because spans_missing=losses.missing_spans \
         spans_unplaced=losses.unplaced incomplete_traces=losses.incomplete_traces throughput(summary.throughput)",
    ),
    (
        "modes.csv",
        "detailed_metrics.modes.*",
        "mode first_step=step_range.0 last_step=step_range.1 warmup_steps=warmup.steps \
         warmup_max_steps_per_instance=warmup.max_per_instance warmup_total_ns=warmup.total_ns \
         warmup_usual_ns=warmup.usual_ns whole_steps=whole.steps whole_ns=whole.total_ns \
         whole_all_steps=whole_all.steps whole_all_ns=whole_all.total_ns whole_warmup_steps=whole_warmup.steps \
         whole_warmup_ns=whole_warmup.total_ns deep_steps threads_steps=threads.steps \
         threads_duration_ns=threads.duration_ns threads_cpu_ns=threads.cpu_ns threads_run_queue_ns=threads.run_queue_ns \
         threads_blocked_ns=threads.blocked_ns alloc_count_per_step=use_per_step.alloc_count \
         minor_faults_per_step=use_per_step.minor_faults steady_ns unattributed_ns quick_without_waiting_ns \
         quick_without_preparation_ns input_between_ns stats(steady_,steady,_ns) stats(all_,all,_ns) \
         throughput(throughput)",
    ),
    ("step_times.csv", "detailed_metrics.modes.*.distribution.*", "mode=^mode from_ns to_ns count"),
    (
        "phases.csv",
        "detailed_metrics.modes.*.phases.*",
        "mode=^mode phase spans exposed_ns exposed_share total_ns total_share self_ns",
    ),
    ("phase_sums.csv", "summary.phase_sums.*", "phase calls total_ns total_share=share"),
    (
        "steps.csv",
        "detailed_metrics.series.*.points.*",
        "mode=^mode step step_numbers=^shift.width count duration_sum_ns duration_min_ns duration_max_ns wait_ns \
         run_queue_ns cpu_ns input_before_ns samples live_count=live_bytes.count live_min_bytes=live_bytes.min \
         live_mean_bytes=live_bytes.mean live_max_bytes=live_bytes.max rss_count=rss_bytes.count \
         rss_min_bytes=rss_bytes.min rss_mean_bytes=rss_bytes.mean rss_max_bytes=rss_bytes.max",
    ),
    (
        "changes.csv",
        "detailed_metrics.changes.*",
        "mode kind from_step step to_step step_numbers steps_before steps_after before_ns after_ns duration_before_ns \
         duration_after_ns p_value cause_phase=cause.phase cause_is_between=cause.is_between \
         cause_before_ns=cause.before_ns cause_after_ns=cause.after_ns cause_step_before_ns=cause.step_before_ns \
         cause_step_after_ns=cause.step_after_ns cause_section_path=cause.section.path \
         cause_section_before_ns=cause.section.before_ns cause_section_after_ns=cause.section.after_ns",
    ),
    (
        "periods.csv",
        "detailed_metrics.periodic.*.periods.*",
        "mode=^mode every first_step steps median_ns above_ns cause_phase=cause.phase \
         cause_usual_ns=cause.usual_ns cause_periodic_ns=cause.periodic_ns stats(usual_,^usual,_ns)",
    ),
    (
        "slowest_steps.csv",
        "detailed_metrics.modes.*.slowest.*",
        "mode=^mode step rank duration_ns start_ns trace_id unattributed_ns every",
    ),
    (
        "slowest_step_phases.csv",
        "detailed_metrics.modes.*.slowest.*.phases.*",
        "mode=^^mode step=^step trace_id=^trace_id phase exposed_ns total_ns",
    ),
    ("step_gaps.csv", "detailed_metrics.modes.*.step_gaps.*", "mode=^mode step step_numbers start_ns gap_ns"),
    (
        "phases_over_steps.csv",
        "detailed_metrics.phase_series.*.points.*.exposed.*",
        "mode=^^mode step=^step step_numbers=^^shift.width whole_steps=^steps whole_steps_ns=^total_ns \
         input_before_ns=^input_before_ns phase exposed_ns",
    ),
    (
        "values.csv",
        "detailed_metrics.values.*.points.*",
        "name=^name step step_numbers=shift.width count mean min max last not_finite_in_series=^not_finite",
    ),
    (
        "sections.csv",
        "sections.*",
        "path name depth kind phase phase_source source stats(,,_ns) self_ns self_busy_ns collapsed_calls \
         slow_excess_ns sum(busy_ns) sum(idle_ns) sum(cpu_ns) sum(run_queue_ns) sum(samples) sum(tokens) sum(bytes) \
         sum(flops) alloc_spans=alloc.spans alloc_bytes=alloc.alloc_bytes free_bytes=alloc.free_bytes \
         alloc_count=alloc.alloc_count self_alloc_bytes=alloc.self_alloc_bytes self_free_bytes=alloc.self_free_bytes \
         self_net_bytes=alloc.self_net_bytes peak_bytes=alloc.peak_bytes resident_spans=resident.spans \
         resident_delta_bytes=resident.delta_bytes resident_largest_delta_bytes=resident.largest_delta_bytes \
         resident_peak_bytes=resident.peak_bytes errors device_calls",
    ),
    (
        "section_modes.csv",
        "sections.*.in_steps.*",
        "path=^path mode steps calls max_calls total_ns driving_ns exposed_ns warmup_calls warmup_total_ns \
         warmup_driving_ns warmup_exposed_ns longest_steady_ns",
    ),
    (
        "critical_path.csv",
        "critical_path",
        "window=critical_path.window mode=critical_path.mode windows=critical_path.windows \
         total_ns=critical_path.total_ns other_ns=critical_path.other_ns \
         warmup_other_ns=critical_path.warmup_other_ns explained_share=critical_path.explained_share \
         waits=critical_path.waits.waits waits_not_started_ns=critical_path.waits.not_started_ns \
         waits_in_production_ns=critical_path.waits.in_production_ns waits_in_transit_ns=critical_path.waits.in_transit_ns \
         linked_waits_ns=critical_path.through_batches.linked_ns \
         linked_in_production_ns=critical_path.through_batches.in_production_ns",
    ),
    (
        "critical_sections.csv",
        "critical_path.sections.*",
        "path phase on_path_ns on_path_share=share on_path_calls beside_calls slack_mean_ns slack_min_ns",
    ),
    (
        "exemplars.csv",
        "exemplars.*",
        "mode step trace_id span_id roles is_warmup rank start_ns duration_ns unattributed_ns spans_in_step",
    ),
    (
        "exemplar_spans.csv",
        "exemplars.*.spans.*",
        "mode=^mode step=^step trace_id=^trace_id span=# parent_span=parent name phase lane thread_id thread_name \
         offset_ns duration_ns critical_ns is_error batch_trace_id=batch.trace_id batch_produce_ns=batch.produce_ns \
         batch_queue_ns=batch.queue_ns",
    ),
    (
        "exemplar_paths.csv",
        "exemplars.*.critical_path.*",
        "mode=^mode step=^step trace_id=^trace_id span offset_ns duration_ns",
    ),
    (
        "exemplar_runs.csv",
        "exemplars.*.spans.*.running.*",
        "mode=^^mode step=^^step trace_id=^^trace_id span=^# offset_ns duration_ns",
    ),
    (
        "live_lines.csv",
        "memory.sampled.lines.*",
        "section section_place place file line function caller bytes blocks old_bytes births bytes_per_step",
    ),
    (
        "allocated_lines.csv",
        "memory.sampled.allocated.*",
        "section section_place place function bytes blocks",
    ),
    (
        "live_ages.csv",
        "memory.sampled.lines.*.ages.*",
        "section=^section place=^place age_steps bytes blocks",
    ),
    (
        "live_between.csv",
        "memory.sampled.between.lines.*",
        "section section_place place function caller from_bytes to_bytes change_bytes",
    ),
    (
        "live_over_steps.csv",
        "memory.sampled.moments.*.sections.*",
        "time_ns=^time_ns step=^step all_bytes=^bytes other_bytes=^other_bytes section bytes",
    ),
    (
        "live_memory.csv",
        "memory.sampled",
        "rank=memory.sampled.rank processes=memory.sampled.processes period_bytes=memory.sampled.period_bytes \
         time_ns=memory.sampled.time_ns step=memory.sampled.step first_step=memory.sampled.first_step \
         steps=memory.sampled.steps steady_steps=memory.sampled.steady_steps bytes=memory.sampled.bytes \
         blocks=memory.sampled.blocks other_bytes=memory.sampled.other_bytes \
         samples_dropped=memory.sampled.samples_dropped stacks_dropped=memory.sampled.stacks_dropped \
         stacks_truncated=memory.sampled.stacks_truncated",
    ),
    (
        "leak_lines.csv",
        "leaks.*.lines.*",
        "leak_section=^section section section_place place function caller bytes_per_step share",
    ),
    (
        "findings.csv",
        "findings.*",
        "id rule type severity title section phase rank recommendation gain_method=predicted_gain.method \
         gain_of=predicted_gain.of gain_saved_ns_per_step=predicted_gain.saved_ns_per_step \
         gain_step_time_ns=predicted_gain.step_time_ns gain_share=predicted_gain.share \
         gain_direct_share=predicted_gain.direct_share gain_because=predicted_gain.because",
    ),
    ("evidence.csv", "findings.*.evidence.*", "finding=^id key value"),
    ("rules.csv", "detailed_metrics.rules.*", "rule state because"),
    ("notes.csv", "notes.*", "rule section text"),
    ("between_steps.csv", "detailed_metrics.between_steps.*", "phase exposed_ns stats(,stats,_ns)"),
    (
        "loaders.csv",
        "detailed_metrics.batches.loaders.*",
        "name workers=workers.# busy_ns waiting_ns computing_ns elapsed_ns utilisation_share=utilisation \
         workers_at_once slot_wait_ns slot_wait_share steady_utilisation_share=after_warmup.utilisation \
         steady_produce_mean_ns=after_warmup.produce_mean_ns steady_slot_wait_share=after_warmup.slot_wait_share \
         slowest_rank=slowest.rank slowest_workers_at_once=slowest.workers_at_once \
         slowest_produce_mean_ns=slowest.after_warmup.produce_mean_ns \
         slowest_utilisation_share=slowest.after_warmup.utilisation \
         under_demand_utilisation_share=under_demand.utilisation under_demand_produce_mean_ns=under_demand.produce_mean_ns \
         samples stats(produce_,produce,_ns) stats(wait_,waits.wait,_ns) \
         stats(wait_produce_,waits.produce,_ns) stats(wait_queue_,waits.queue,_ns) \
         stats(wait_depth_,waits.depth,_batches)",
    ),
    (
        "workers.csv",
        "detailed_metrics.batches.loaders.*.workers.*",
        "loader=^name rank thread drives_steps batches busy_ns waiting_ns slot_wait_ns idle_ns first_ns last_ns",
    ),
    ("loader_stalls.csv", "detailed_metrics.batches.loaders.*.stalls.*", "loader=^name mode waits total_ns"),
    (
        "waited_by.csv",
        "detailed_metrics.batches.loaders.*.waited_by.*",
        "loader=^name waited_by=loader waits total_ns",
    ),
    (
        "processors.csv",
        "threads",
        "cpus=threads.processors.cpus own=threads.processors.own other_ranks=threads.processors.other_ranks \
         others=threads.processors.others \
         alloc_cost_ns=threads.processors.alloc_cost_ns fault_cost_ns=threads.processors.fault_cost_ns",
    ),
    ("threads.csv", "threads.modes.*", "mode deep_steps=steps duration_ns looks dropped running_elsewhere"),
    ("thread_states.csv", "threads.modes.*.own_looks.*", "mode=^mode state looks"),
    (
        "section_threads.csv",
        "threads.modes.*.sections.*",
        "mode=^mode path phase calls duration_ns cpu_ns run_queue_ns blocked_ns minor_faults own_duration_ns own_cpu_ns \
         own_blocked_ns awaiting awaited contended contended_steps turns_steps turns_threads",
    ),
    ("section_thread_states.csv", "threads.modes.*.sections.*.looks.*", "mode=^^mode path=^path state looks"),
    (
        "thread_timeline.csv",
        "threads.modes.*.timeline.threads.*.states.*",
        "mode=^^mode step=^^timeline.step thread_id=^thread_id thread_name=^thread_name state offset_ns duration_ns",
    ),
    // A row a figure: its unit is in its name, since the depth of a queue is a count.
    ("waits.csv", "waits.*", "figure stats(,stats,)"),
    // A row a kind of memory: `live` by the counting allocator, `rss` resident.
    (
        "memory.csv",
        "memory.kinds.*",
        "memory first_bytes last_bytes max_bytes \
         whole_points=whole.n whole_from_step=whole.from_step whole_to_step=whole.to_step \
         whole_slope_bytes_per_step=whole.slope_per_step whole_low_bytes_per_step=whole.confidence_interval.0 \
         whole_high_bytes_per_step=whole.confidence_interval.1 whole_p_value=whole.p_value",
    ),
    // What was measured of machines, of their processes and of GPUs: of the whole run, and by stretch of it.
    ("hosts.csv", "host.hosts.*", "host=name sources every_ns steps_per_stretch steps_measured steps"),
    ("host_figures.csv", "host.rows.*", "host gpu gpu_id model rank figure about mean min max"),
    (
        "host_over_steps.csv",
        "host.points.*",
        "host gpu rank figure about from_ns to_ns first_step steps step_p50_ns is_warmup value",
    ),
    (
        "processes.csv",
        "memory.processes.*",
        "rank host pid rss_last_bytes rss_max_bytes live_last_bytes live_max_bytes verdict=course.verdict \
         is_suspected=course.is_suspected from_step=course.trend.from_step to_step=course.trend.to_step \
         slope_bytes_per_step=course.trend.slope_per_step low_bytes_per_step=course.trend.confidence_interval.0 \
         high_bytes_per_step=course.trend.confidence_interval.1 p_value=course.trend.p_value points=course.trend.n \
         plateau_bytes=course.plateau_bytes least_seen_bytes_per_step=course.least_seen_bytes_per_step \
         more_steps=course.more_steps fell_step=course.fell.step fell_from_bytes=course.fell.from_bytes \
         fell_to_bytes=course.fell.to_bytes impossible_values",
    ),
    // A row a section that holds much; then one of all others and one of all.
    (
        "memory_sections.csv",
        "memory.by_section.sections.*",
        "what section=path includes_nested first_bytes last_bytes peak_bytes peak_step",
    ),
    // A row for each section of a point that holds much, and one without a section for all others.
    (
        "memory_over_steps.csv",
        "memory.by_section.points.*.sections.*",
        "mode=^mode step=^step step_numbers=^shift.width all_net_bytes=^net_bytes all_retained_bytes=^retained_bytes \
         section retained_bytes",
    ),
    (
        "leaks.csv",
        "leaks.*",
        "section verdict bytes_per_step low_bytes_per_step=confidence_interval.0 \
         high_bytes_per_step=confidence_interval.1 p_value live_bytes ranks",
    ),
    (
        "ranks.csv",
        "ranks.*",
        "rank=resource.rank world_size=resource.world_size service=resource.service_name \
         instance=resource.service_instance_id host=resource.host_name pid=resource.pid \
         creation_time=resource.creation_time cpus=resource.cpus level=resource.level sdk=resource.sdk first_ns last_ns \
         started ended ended_by traces warmup_steps stats(step_,steps,_ns) stats(work_,work_time,_ns) \
         throughput(throughput) communication_per_step_ns other_steps_ns usual_gap_ns steps_overlap",
    ),
    // What each process spends in phases, in its steps and between them.
    (
        "rank_phases.csv",
        "ranks.*.phases.*",
        "rank=^resource.rank instance=^resource.service_instance_id phase exposed_per_step_ns \
         exposed_between_per_step_ns",
    ),
    // What became of the spans: how many were emitted, exported by each sink, lost for each reason, missing.
    ("losses.csv", "fates.*", "fate sink reason spans is_missing_here advice"),
    ("inputs.csv", "inputs.*", "path format size_bytes=bytes spans"),
    ("read_issues.csv", "read_issues.*", "file kind offset_bytes=offset count lost_bytes reason"),
    ("limits.csv", "detailed_metrics.limits.*", "limit depth"),
    (
        "other_runs.csv",
        "run.other_runs.*",
        "run_id=run.id attempt=run.attempt is_foreign=run.is_foreign first_ns steps",
    ),
];
