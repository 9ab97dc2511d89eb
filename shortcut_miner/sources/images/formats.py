"""The formats of objects' labels and of scene graphs; those of regions are in :mod:`.regions`.

Readers of labels take a Content and how to treat bad rows, and return a Reading; those of scene graphs take a
Content and return :class:`~.scene_graph_rows.SceneRows`.
"""

from shortcut_miner.sources.images import coco
from shortcut_miner.sources.images import image_labels as labels
from shortcut_miner.sources.images import scene_graph_rows as graphs
from shortcut_miner.sources.opening.kinds import Format, for_options, with_columns

_only_labels = with_columns("image_id", "label", but_not=("x1", "y1", "x2", "y2"))
LABELS = for_options(
    "vqa-ce build --detections",
    Format(coco.COCO_INSTANCES, coco.read_coco_labels, "JSON", coco.is_coco_instances, coco.count_coco),
    Format(labels.IMAGE_LABELS, labels.read_image_labels, "JSON", labels.is_image_labels, "images"),
    Format(labels.LABELS_PARQUET, labels.read_labels_parquet, "Parquet", _only_labels, "labels"),
)
SCENE_GRAPHS = for_options(
    "fpvg or swapmix build --scene-graphs",
    Format(graphs.SCENE_GRAPHS, graphs.scene_graph_rows, "JSON", graphs.is_scene_graphs, "images"),
    Format(graphs.VISUAL_GENOME, graphs.visual_genome_rows, "JSON", graphs.is_visual_genome, "images"),
)
