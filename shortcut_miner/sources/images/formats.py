"""The formats of objects' labels and of scene graphs; those of regions are in :mod:`.regions`.

Readers of labels take a Content and how to treat bad rows, and return a Reading; those of scene graphs take a
Content and return :class:`~.scene_graph_rows.SceneRows`.
"""

from shortcut_miner.sources.images import coco
from shortcut_miner.sources.images import image_labels as labels
from shortcut_miner.sources.images import label_tables as tables
from shortcut_miner.sources.images import scene_graph_rows as graphs
from shortcut_miner.sources.opening.kinds import Format, for_options

LABELS = for_options(
    "vqa-ce build --detections",
    Format(coco.COCO_INSTANCES, coco.read_coco_labels, "JSON", coco.is_coco_instances, coco.count_coco),
    Format(labels.IMAGE_LABELS, labels.read_image_labels, "JSON", labels.is_image_labels, "images"),
    *(
        Format(tables.labels_kind(form), tables.read_label_table, form, tables.is_label_table(form), "rows")
        for form in tables.LABEL_TABLE_FORMS
    ),
)
SCENE_GRAPHS = for_options(
    "fpvg or swapmix build --scene-graphs, or vqa-ce build --detections",
    Format(graphs.SCENE_GRAPHS, graphs.scene_graph_rows, "JSON", graphs.is_scene_graphs, "images"),
    Format(graphs.VISUAL_GENOME, graphs.visual_genome_rows, "JSON", graphs.is_visual_genome, "images"),
)
