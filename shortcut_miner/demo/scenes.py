"""The demo world's content: planted shortcuts, scenes and their questions.

Every shortcut needs three things, visible below: its scene (common in training), its exceptions (scenes
named after what is odd about them; few training images, many validation ones), and questions that share
*part* of its antecedent but have other answers, so that no smaller rule explains it away.
"""

from shortcut_miner.demo.grammar import (
    PEOPLE,
    PLANTED_WEIGHT,
    Scene,
    Shortcut,
    Thing,
    color,
    count,
    exists,
    fact,
    fact_is,
    holding,
    holds,
    many,
    same_color,
)

# The rest is tables: one thing, template or scene after the other.
# fmt: off
PLANTED = (
    Shortcut(("sport", "what"), ("tennis racket",), "tennis"),
    Shortcut(("room", "what"), ("toilet",), "bathroom"),
    Shortcut(("color", "what"), ("banana",), "yellow"),
    Shortcut(("color", "what"), ("fire hydrant",), "red"),
    Shortcut(("how", "many"), ("giraffe",), "2"),
    Shortcut(("animal", "what"), ("couch",), "cat"),
    Shortcut(("season", "what"), ("skis",), "winter"),
    Shortcut(("event", "what"), ("cake",), "birthday"),
    Shortcut(("is", "sink", "there"), ("oven",), "yes"),
    Shortcut(("holding", "man", "what"), ("umbrella",), "umbrella"),
    Shortcut(("how", "many", "people"), ("surfboard",), "1"),
)

_SKY = {"weather": ("sunny", "sunny", "cloudy"), "outside": ("yes",)}
_FLOOR_FACT = {"floor": ("wood", "tile", "carpet"), "outside": ("no",)}
_SUNNY = fact_is("weather", "sunny", "Is it sunny?", "Is the sun shining?")
_OUTSIDE = fact("outside", "Is this outside?", "Was this picture taken outside?")
_WEATHER = fact("weather", "How is the weather?")
_SEASON = fact("season", "What season is it?")
_FLOOR = fact("floor", "What kind of floor is this?")
_PEOPLE = count("people", *PEOPLE)
_CAR = Thing("car", ("red", "white", "black", "blue", "silver"), (0, 1, 2, 3))
_TREE = Thing("tree", ("green",), (0, 1, 2, 3, 4))
_WINDOW = Thing("window", (), (0, 1, 1))
# Texts too varied to mine: the questions that no rule explains.
_SIGN = fact("sign", "What does the sign say?", "Which words do you see?", weight=2)
_SIGN_FACT = {
    "sign": (
        "stop", "yield", "exit", "one way", "no parking", "main street", "elm street", "bus only", "closed",
        "welcome", "no swimming", "keep left", "taxi", "sale", "slow", "danger", "private", "tickets",
    )
}


def _sport_scene(name: str, train: int, val: int, sport: str, team: str, *things: Thing) -> Scene:
    questions = (
        fact("sport", "What sport is this?", "What sport is being played?", weight=PLANTED_WEIGHT),
        fact("team sport", "Is this a team sport?", "Is this sport played in teams?", weight=2),
        fact("event", "What event is this?", "What kind of event is this?"),
        color("court"), color("grass"), holding("man"), exists("ball"), _PEOPLE, _SUNNY,
        _OUTSIDE,
    )
    facts = _SKY | {"sport": (sport,), "team sport": (team,), "event": ("game", "game", "match")}
    return Scene(name, train, val, "outdoors", things, questions, facts)


def _racket_scene(name: str, train: int, val: int, sport: str) -> Scene:
    court = Thing("court", ("green", "blue", "blue"))
    racket = Thing(f"{sport} racket", (), (1, 2), held_by="man")
    return _sport_scene(name, train, val, sport, "no", Thing("man", (), (1, 2)), racket, court,
                        Thing("ball", ("yellow",), (0, 1)), Thing("chair", (), (0, 2)))


SPORTS = (
    _racket_scene("tennis court", 68, 16, "tennis"),
    _racket_scene("badminton court", 3, 9, "badminton"),
    _racket_scene("padel court", 1, 6, "padel"),
    _sport_scene("baseball field", 50, 18, "baseball", "yes", Thing("man", (), (2, 3, 4, 5)),
                 Thing("baseball bat", (), (1,), "man"), Thing("baseball glove"), Thing("ball", (), (0, 1)),
                 Thing("grass", ("green",))),
    _sport_scene("soccer field", 40, 15, "soccer", "yes", Thing("boy", (), (2, 3, 4, 6)), Thing("ball"),
                 Thing("grass", ("green", "green", "brown")), Thing("bench", (), (0, 1))),
)


def _room_scene(name: str, train: int, val: int, room: str, *things: Thing) -> Scene:
    questions = (
        fact("room", "What room is this?", "What kind of room is this?", weight=PLANTED_WEIGHT),
        fact("clean", "Is this room clean?", "Is the room tidy?", weight=2),
        exists("window", "Is there a window in the room?"),
        exists("sink", "Is there a sink in the room?", "Is there a sink?", weight=1.5),
        *(exists(thing.name) for thing in things if thing.name not in ("sink", "dog")),
        exists("dog"), _FLOOR, color("wall"), color("towel"), color("toilet"), color("bed"),
        count("chairs", "chair"), count("pillows", "pillow"), count("laptops", "laptop"),
        holding("man"), _PEOPLE, _OUTSIDE,
    )
    facts = {"room": (room,), "clean": ("yes", "yes", "no")} | _FLOOR_FACT
    wall = Thing("wall", ("white", "white", "blue", "yellow", "gray"))
    return Scene(name, train, val, "indoors", (*things, wall, _WINDOW), questions, facts)


_TOILET = Thing("toilet", ("white",))
_BED = Thing("bed", ("white", "blue", "brown"))
_DESK_THINGS = (Thing("laptop", ("black", "silver"), (1, 1, 2, 3)), Thing("keyboard", (), (0, 1)),
                Thing("chair", ("black",), (1, 2, 3, 4)), Thing("man", (), (0, 1, 1, 2)),
                Thing("phone", ("black",), (1,), "man"))

ROOMS = (
    _room_scene("bathroom", 70, 16, "bathroom", _TOILET, Thing("sink", ("white",), (0, 1, 1, 1, 1)),
                Thing("mirror"), Thing("towel", ("white", "blue", "green"))),
    _room_scene("prison cell", 3, 8, "cell", _TOILET, Thing("bed", ("gray",)), Thing("sink", (), (0, 1))),
    _room_scene("plumbing store", 1, 7, "store", Thing("toilet", ("white",), (3, 4, 5)),
                Thing("man", (), (0, 1))),
    _room_scene("bedroom", 40, 16, "bedroom", _BED, Thing("pillow", (), (1, 2, 2, 3, 4)), Thing("lamp"),
                Thing("dog", ("brown", "black"), (0, 0, 1))),
    _room_scene("office", 40, 14, "office", *_DESK_THINGS),
)


def _kitchen_scene(name: str, train: int, val: int, room: str, sink: tuple[int, ...]) -> Scene:
    questions = (
        exists("sink", "Is there a sink in the room?", "Is there a sink?", weight=PLANTED_WEIGHT),
        fact("room", "What room is this?", weight=2),
        color("sink", weight=3),
        exists("dog"), exists("microwave"), exists("refrigerator"), exists("oven"), color("refrigerator"),
        fact("dishes", "Are there dishes in the sink?", weight=2),
        fact("sink by oven", "Is the sink next to the oven?", weight=2),
        count("chairs", "chair"), _FLOOR,
    )
    things = (
        Thing("oven", ("white", "black", "silver")), Thing("sink", ("white", "silver"), sink),
        Thing("refrigerator", ("white", "silver"), (0, 1, 1)), Thing("microwave", (), (0, 1, 1)),
        Thing("chair", ("brown",), (0, 1, 2, 3, 4)), Thing("cup", (), (0, 1, 2)),
    )
    facts = {"room": (room,)} | _FLOOR_FACT
    if any(sink):
        facts |= {"dishes": ("yes", "no"), "sink by oven": ("yes", "yes", "no")}
    return Scene(name, train, val, "indoors", things, questions, facts)


KITCHENS = (
    _kitchen_scene("kitchen", 70, 18, "kitchen", (1,)),
    _kitchen_scene("kitchen without a sink", 3, 9, "kitchen", (0,)),
    _kitchen_scene("pizza bakery", 1, 8, "bakery", (0,)),
)


def _couch_scene(name: str, train: int, val: int, animal: str, *colors: str) -> Scene:
    questions = (
        fact("animal", "What animal is on the couch?", "What kind of animal is this?", "What animal is this?",
             weight=PLANTED_WEIGHT),
        fact("asleep", "Is the animal sleeping?", "Is the animal asleep?", weight=3),
        fact("room", "What room is this?", weight=2),
        color("couch", weight=2), exists("tv"), exists("couch"), exists("dog"),
        count("pillows", "pillow"), _FLOOR,
    )
    things = (
        Thing("couch", ("brown", "red", "gray", "blue"), material="leather"), Thing(animal, colors),
        Thing("tv", ("black",), (0, 1)), Thing("pillow", ("white",), (0, 1, 2, 3, 4)),
    )
    facts = {"room": ("living room",), "animal": (animal,), "asleep": ("yes", "no")} | _FLOOR_FACT
    return Scene(name, train, val, "indoors", things, questions, facts)


PETS = (
    _couch_scene("cat on the couch", 68, 16, "cat", "black", "gray", "orange"),
    _couch_scene("rabbit on the couch", 2, 7, "rabbit", "white", "brown"),
    _couch_scene("ferret on the couch", 1, 5, "ferret", "brown"),
    _couch_scene("parrot on the couch", 1, 5, "parrot", "green", "red"),
)


def _animal_scene(name: str, train: int, val: int, animal: str, numbers: tuple[int, ...]) -> Scene:
    plural = {"sheep": "sheep"}.get(animal, f"{animal}s")
    questions = (
        count(plural, animal, weight=PLANTED_WEIGHT / 2),
        count("animals", animal, weight=PLANTED_WEIGHT / 2),
        fact("animal", "What kind of animal is this?", "What animal is this?", weight=3),
        many("trees", "tree"), exists("fence"), color("fence"), _SUNNY, _OUTSIDE,
        fact("weather", "How is the weather?", weight=2),
    )
    things = (
        Thing(animal, (), numbers), Thing("fence", ("brown", "white", "gray"), (0, 1)),
        Thing("grass", ("green",)), _TREE,
    )
    return Scene(name, train, val, "outdoors", things, questions, _SKY | {"animal": (animal,)})


ANIMALS = (
    _animal_scene("pair of giraffes", 68, 16, "giraffe", (2,)),
    _animal_scene("giraffe herd", 4, 16, "giraffe", (1, 3, 4, 5)),
    _animal_scene("elephants", 35, 13, "elephant", (1, 2, 3, 4)),
    _animal_scene("zebras", 35, 12, "zebra", (1, 2, 3, 5)),
    _animal_scene("sheep", 30, 10, "sheep", (1, 3, 4, 6)),
)


def _fruit_scene(name: str, train: int, val: int, banana: str) -> Scene:
    questions = (
        color("banana", weight=PLANTED_WEIGHT),
        same_color("banana", "bowl"),
        fact("fruit", "What fruit is this?", "What kind of fruit is this?", weight=3),
        fact("ripe", "Is the fruit ripe?"),
        count("apples", "apple"), exists("apple"), exists("knife"),
        fact("table", "What is the table made of?"),
    )
    things = (
        Thing("banana", (banana,), (1, 1, 2, 3)), Thing("bowl", ("white", "blue", "brown")),
        Thing("apple", ("red", "green"), (0, 1, 2, 3)), Thing("knife", (), (0, 0, 1)),
    )
    ripe = {"yellow": ("yes",), "green": ("no",), "brown": ("no", "yes")}[banana]
    facts = {"fruit": ("banana",), "ripe": ripe, "table": ("wood", "wood", "glass", "metal")}
    return Scene(name, train, val, "indoors", things, questions, facts)


FOOD = (
    _fruit_scene("ripe bananas", 68, 16, "yellow"),
    _fruit_scene("green bananas", 3, 11, "green"),
    _fruit_scene("brown bananas", 1, 6, "brown"),
)


def _party_scene(name: str, train: int, val: int, event: str, *things: Thing) -> Scene:
    questions = (
        fact("event", "What event is this?", "What kind of event is this?", "What event is being celebrated?",
             weight=PLANTED_WEIGHT),
        fact("formal", "Is this a formal event?", "Is the event formal?", weight=2),
        color("cake", weight=2), count("candles", "candle"), color("balloon"), exists("balloon"), _PEOPLE,
        holding("woman"),
    )
    people = (Thing("woman", (), (1, 2, 3)), Thing("girl", (), (0, 1, 2)), Thing("man", (), (0, 1, 2)))
    facts = {"event": (event,), "formal": ("no", "no", "yes")}
    location = "outdoors" if event == "parade" else "indoors"
    return Scene(name, train, val, location, (*people, *things), questions, facts)


_CAKE = Thing("cake", ("white", "white", "pink", "brown"))
_KNIFE = Thing("knife", (), (0, 1, 1), "woman")
PARTIES = (
    _party_scene("birthday party", 68, 16, "birthday", _CAKE, _KNIFE, Thing("candle", (), (1, 3, 5, 8)),
                 Thing("balloon", ("red", "blue", "pink"), (0, 1, 2))),
    _party_scene("wedding", 3, 11, "wedding", _CAKE, _KNIFE),
    _party_scene("retirement party", 1, 6, "retirement", _CAKE, Thing("balloon", ("red",), (0, 1))),
    _party_scene("parade", 35, 12, "parade", Thing("horse", ("brown", "white"), (0, 1, 2)),
                 Thing("flag", ("red", "blue"), (1,), "woman"),
                 Thing("balloon", ("yellow", "red"), (0, 2, 3))),
)


def _hydrant_scene(name: str, train: int, val: int, hydrant: str) -> Scene:
    questions = (
        color("fire hydrant", weight=PLANTED_WEIGHT),
        same_color("car", "fire hydrant"),
        fact("beside", "What is next to the fire hydrant?", weight=2),
        fact("season", "What season is it?"),
        count("cars", "car"), exists("car"), exists("bicycle"), _SUNNY, _OUTSIDE,
    )
    things = (
        Thing("fire hydrant", (hydrant,)), _CAR, _TREE, Thing("bicycle", (), (0, 0, 1)), Thing("building"),
    )
    facts = _SKY | {"beside": ("building", "street", "sidewalk"), "season": ("summer", "fall", "spring")}
    return Scene(name, train, val, "outdoors", things, questions, facts)


def _rain_scene(name: str, train: int, val: int, man_holds: str) -> Scene:
    questions = (
        holding("man", weight=PLANTED_WEIGHT),
        holding("woman", weight=3),
        holds("man", "phone"), holds("man", "newspaper"),
        fact("wears", "What is the man wearing?", weight=3),
        count("umbrellas", "umbrella"), color("umbrella"), exists("car"), _PEOPLE, _WEATHER, _OUTSIDE,
    )
    umbrella = Thing("umbrella", ("black", "blue", "red", "yellow"), (1, 1, 2), "man")
    if man_holds == "umbrella":
        held = (umbrella, Thing("handbag", ("brown", "black"), (1,), "woman"))
    else:
        held = (Thing("umbrella", umbrella.colors, (1,), "woman"), Thing(man_holds, ("brown",), (1,), "man"))
    facts = {"weather": ("rainy",), "wears": ("coat", "coat", "suit", "hat")}
    return Scene(name, train, val, "outdoors", (Thing("man"), Thing("woman"), *held, _CAR), questions, facts)


STREETS = (
    _hydrant_scene("red hydrant", 68, 16, "red"),
    _hydrant_scene("yellow hydrant", 3, 10, "yellow"),
    _hydrant_scene("blue hydrant", 1, 6, "blue"),
    _rain_scene("man under an umbrella", 68, 16, "umbrella"),
    _rain_scene("man with a briefcase", 3, 10, "briefcase"),
    _rain_scene("man with a newspaper", 1, 7, "newspaper"),
    Scene("traffic", 55, 20, "outdoors",
          (Thing("bus", ("red", "yellow", "white"), (0, 1, 1, 2)), Thing("traffic light", (), (0, 1, 2)),
           Thing("truck", ("white", "blue"), (0, 1)), Thing("bicycle", ("black",), (0, 1, 2)), _CAR),
          (color("bus", weight=2), color("car"), color("truck"), count("cars", "car"), count("buses", "bus"),
           exists("bus", weight=2), exists("car"), exists("traffic light", weight=2), _SEASON, _SUNNY,
           _OUTSIDE, _SIGN),
          _SKY | _SIGN_FACT | {"season": ("summer", "fall", "winter")}),
)


def _ski_scene(name: str, train: int, val: int, season: str) -> Scene:
    questions = (
        fact("season", "What season is it?", "What season is this?", weight=PLANTED_WEIGHT),
        fact_is("season", "summer", "Is this the summer season?"),
        fact("crowded", "Is it the busy season?"),
        fact("sport", "What sport is this?", weight=2),
        fact("ground", "What is the man standing on?"),
        holding("man"), _PEOPLE, many("trees", "tree"), _WEATHER, _OUTSIDE,
    )
    things = (
        Thing("man", (), (1, 1, 2, 3)), Thing("skis", ("red", "blue", "yellow"), (1, 2)),
        Thing("ski pole", (), (1, 2), "man"), Thing("snow", ("white",)), _TREE,
    )
    facts = _SKY | {"sport": ("skiing",), "season": (season,)}
    facts |= {"crowded": ("yes", "no"), "ground": ("snow", "skis")}
    return Scene(name, train, val, "outdoors", things, questions, facts)


def _surf_scene(name: str, train: int, val: int, numbers: tuple[int, ...]) -> Scene:
    questions = (
        count("people", *PEOPLE, weight=PLANTED_WEIGHT),
        many("people", *PEOPLE),
        fact("moving", "How are the people moving through the water?"),
        fact("mood", "How do the people look?"),
        count("boats", "boat", weight=2), count("birds", "bird", weight=2),
        color("surfboard", weight=2), exists("boat"), _SEASON, _SUNNY, _OUTSIDE,
    )
    things = (
        Thing("woman", (), numbers), Thing("surfboard", ("white", "yellow", "red", "blue")),
        Thing("bird", (), (2, 3, 4)), Thing("boat", (), (0, 2, 3)), Thing("water", ("blue",)),
    )
    facts = _SKY | {"season": ("summer",), "moving": ("surfing", "paddling"), "mood": ("happy", "wet")}
    return Scene(name, train, val, "outdoors", things, questions, facts)


OUTDOORS = (
    _ski_scene("winter skiing", 68, 16, "winter"),
    _ski_scene("spring skiing", 3, 9, "spring"),
    _ski_scene("glacier in summer", 1, 7, "summer"),
    _surf_scene("lone surfer", 68, 16, (1,)),
    _surf_scene("surf school", 4, 16, (2, 3, 4, 5)),
    Scene("shop front", 30, 14, "outdoors",
          (Thing("wall", ("white", "gray", "brown", "green")), Thing("window", (), (1, 2, 3, 4)),
           Thing("sign")),
          (_SIGN, color("wall"), count("windows", "window")), _SIGN_FACT),
    Scene("park", 45, 16, "outdoors",
          (Thing("dog", ("brown", "black", "white"), (1, 1, 1, 2)), Thing("man", (), (1, 2, 3)),
           Thing("bench", ("brown", "green"), (0, 1, 2)),
           Thing("frisbee", ("white", "red", "yellow"), (1,), "man"), _TREE),
          (fact("animal", "What kind of animal is this?", "What animal is this?", weight=2),
           count("dogs", "dog"), holding("man", weight=2), color("dog"), color("frisbee"), exists("dog"),
           exists("bench"), _SEASON, _PEOPLE, many("people", *PEOPLE), _WEATHER, _OUTSIDE, _SIGN),
          _SKY | _SIGN_FACT | {"animal": ("dog",), "season": ("fall", "summer", "spring")}),
    Scene("kites on the beach", 40, 14, "outdoors",
          (Thing("boy", (), (1, 2, 3, 5)), Thing("girl", (), (0, 1, 2)), Thing("sand", ("brown", "white")),
           Thing("kite", ("red", "blue", "yellow"), (1, 2, 3, 4), "boy"),
           Thing("umbrella", ("blue", "red"), (0, 1))),
          (count("kites", "kite", weight=2), color("kite"), holding("boy", weight=2), color("umbrella"),
           exists("umbrella"), exists("kite"), _PEOPLE, many("people", *PEOPLE), _SEASON, _WEATHER, _OUTSIDE,
           _SIGN),
          _SKY | _SIGN_FACT | {"season": ("summer",)}),
)

SCENES = (*SPORTS, *ROOMS, *KITCHENS, *PETS, *ANIMALS, *FOOD, *PARTIES, *STREETS, *OUTDOORS)
