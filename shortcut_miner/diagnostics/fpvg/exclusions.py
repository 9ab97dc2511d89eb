"""Why a question can't be evaluated, in the order in which it is looked for."""

NO_ANNOTATION = "no annotation"
NO_SCENE_GRAPH = "image not in scene graphs"
NO_OBJECT = "object missing in the graph"
NO_DETECTIONS = "no detections"
NO_RELEVANT = "no relevant region"
NO_IRRELEVANT = "no irrelevant region"
EXCLUSIONS = (NO_ANNOTATION, NO_SCENE_GRAPH, NO_OBJECT, NO_DETECTIONS, NO_RELEVANT, NO_IRRELEVANT)
