"""Build: read the objects, choose images and objects, write the questions."""

from pathlib import Path

from shortcut_miner.datasets.folders import Run, options_of, publish
from shortcut_miner.diagnostics.pope import outputs
from shortcut_miner.diagnostics.pope.config import PopeConfig, PopeFiles
from shortcut_miner.diagnostics.pope.inputs import read_inputs
from shortcut_miner.diagnostics.pope.outputs import BuildReport, Polled
from shortcut_miner.diagnostics.pope.polling import choose_images, poll, rank_names
from shortcut_miner.timing import OnStage, timed


def build(
    files: PopeFiles,
    config: PopeConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read images with their objects, make polling questions about them and write the folder.

    Parameters
    ----------
    files : PopeFiles
        Inputs.
    config : PopeConfig
        Options.
    out : Path or None
        Folder to write; None computes without writing.
    limit : int, optional
        Use the first images only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, ConfigError
        Bad input, fewer images than asked for, or a folder that can't be written; nothing on disk is changed
        then.
    """
    run = Run(files=files, on_stage=on_stage, force=force)
    run.check_out(out, outputs.COMMAND, options_of(config, limit), outputs.file_names(config))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    size, seed, source = config.objects_per_image, config.seed, str(files.objects)
    with timed(run.costs, "poll", on_stage):
        chosen = choose_images(
            inputs.objects,
            inputs.also_present,
            config.image_count,
            size,
            seed,
            source=source,
            may_be_fewer=limit is not None,
        )
        if len(chosen.objects) < config.image_count:
            run.notes.append(f"images: {len(chosen.objects):,}, all that the first {limit:,} give")
        ranks = rank_names(chosen.objects, config.ties or "lexicographic")
        in_order = {one: chosen.objects[one] for one in sorted(chosen.objects, key=inputs.images.__getitem__)}
        slots = {
            strategy: poll(in_order, inputs.also_present, ranks, strategy, size, seed, source=source)
            for strategy in config.chosen_strategies
        }
    polled = Polled(inputs, chosen, ranks, slots)
    provenance, figures, tables = outputs.describe(polled, config, limit)
    if out is not None:
        publish(
            out,
            run,
            lambda folder: outputs.write(folder, tables, provenance, figures, ranks, config),
            notes=inputs.facts.notes,
            warnings=inputs.facts.warnings,
        )
    return BuildReport.of(
        run,
        inputs.facts,
        provenance,
        out=out,
        figures=figures,
        words=outputs.in_words(provenance, figures),
        tables=tables,
    )
