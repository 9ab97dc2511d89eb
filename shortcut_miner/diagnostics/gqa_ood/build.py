"""Build: read the questions, group them, cut head and tail, write the folder."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.gqa_ood import outputs
from shortcut_miner.diagnostics.gqa_ood.config import GqaOodConfig, GqaOodFiles
from shortcut_miner.diagnostics.gqa_ood.inputs import read_inputs
from shortcut_miner.diagnostics.gqa_ood.outputs import BuildReport, Found
from shortcut_miner.diagnostics.gqa_ood.subsets import split_questions
from shortcut_miner.scoring.head_tail import answer_counts, judge_groups
from shortcut_miner.timing import OnStage, timed


def build(
    files: GqaOodFiles,
    config: GqaOodConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the questions, find each group's frequent and rare answers, and write the folder.

    Parameters
    ----------
    files : GqaOodFiles
        Inputs.
    config : GqaOodConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, ConfigError
        Bad input, or a folder that can't be written; nothing on disk is changed then.
    """
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.FILE_NAMES)
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(run.costs, "group", on_stage):
        counts = answer_counts(inputs.questions)
        groups, cut = judge_groups(counts, config.log_epsilon or 0.0, config.entropy_cut)
        split = split_questions(
            inputs.questions.select("question_id", "group", "answer"), counts, groups, config.alpha
        )
    found = Found(inputs, groups, split, cut)
    facts = outputs.facts_of(found, config)
    provenance, figures = outputs.describe(found, config, limit)
    tables = outputs.make_tables(found)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, tables, provenance, figures, inputs.records),
            notes=facts.notes,
            warnings=facts.warnings,
        )
    return BuildReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures=figures,
        words=outputs.in_words(provenance, figures),
        tables=tables,
        is_complete=provenance.counts["groups_kept"] > 0,
    )
