"""The English that queries are read with: comparisons, superlatives, positions, calculations."""

from __future__ import annotations

from runtrue.planner.words import word_set

#: Words that carry no meaning of their own.
QUIET = word_set(
    "the a an its their them it his her my our your me us please just only kindly also is "
    "are was were be been being do does did has have had there i that which who what whose "
    "where these those this all each every any both value values field fields whole "
    "entire list give show get tell return find found along together altogether as then to "
    "on ones one's named called currently still got yet already now so '"
)
#: Phrases that carry none either.
QUIET_PHRASES = ("right now", "at the moment", "at present", "so far", "as well", "in there")
#: Verbs between entries and what is said of them.
RELATING = word_set(
    "live lives living located based work works working know knows speak speaks use uses using "
    "belong belongs belonging come comes"
)
#: Prepositions between a part and what it is a part of, or is in.
PART_OF = word_set("of from in for with at within among having under into")
#: Words for an entry, whatever it is.
ENTRIES = word_set(
    "item items entry entries element elements record records result results row rows object "
    "objects one ones data response everything content everyone everybody people person"
)
NUMBERS = {
    word: n
    for n, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=1
    )
}
ORDINALS = {
    word: n
    for n, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        ]
    )
} | {"last": -1}
#: Comparisons: the operator, and the meaning of the field where the word itself says it.
COMPARATORS = {
    **dict.fromkeys(
        (
            *("more than", "greater than", "higher than", "larger than", "bigger than", "over"),
            *("above", "exceeding", "exceeds", ">", "longer than", "better than"),
        ),
        (">", ""),
    ),
    **dict.fromkeys(
        (
            "less than",
            "fewer than",
            "lower than",
            "smaller than",
            "under",
            "below",
            "<",
            "shorter than",
            "worse than",
        ),
        ("<", ""),
    ),
    **dict.fromkeys(("at least", "no less than", ">=", "minimum of", "not less than"), (">=", "")),
    **dict.fromkeys(("at most", "no more than", "up to", "<=", "not more than"), ("<=", "")),
    **{"older than": (">", "age"), "younger than": ("<", "age"), "newer than": (">", "date")},
    **{"cheaper than": ("<", "price"), "heavier than": (">", "weight")},
    **{"taller than": (">", "height"), "after": (">", "date"), "before": ("<", "date")},
    **{"since": (">=", "date"), "until": ("<=", "date"), "more expensive than": (">", "price")},
    **dict.fromkeys(("later than", "past"), (">", "date")),
    **dict.fromkeys(("earlier than", "prior to"), ("<", "date")),
    **dict.fromkeys(("on or after", "no earlier than", "not before"), (">=", "date")),
    **dict.fromkeys(("on or before", "no later than", "up until", "not after"), ("<=", "date")),
}
EQUALS = {
    **dict.fromkeys(("is", "are", "=", "==", "equals", "equal to", "is equal to"), "=="),
    **dict.fromkeys(("is not", "are not", "!=", "other than", "not"), "!="),
    **dict.fromkeys(("contains", "containing", "contain", "includes", "including"), "contains"),
    **dict.fromkeys(("starts with", "starting with", "begins with", "start with"), "starts_with"),
    **dict.fromkeys(("ends with", "ending with", "ending in", "end with", "ends in"), "ends_with"),
}
#: Verbs that say what a number is compared with.
HINTS = {
    **dict.fromkeys(("costing", "costs", "cost", "priced", "worth", "selling"), "price"),
    **dict.fromkeys(("earning", "earns", "earn", "making", "makes", "make", "paid"), "salary"),
    **dict.fromkeys(("aged", "age"), "age"),
    **dict.fromkeys(("weighing", "weighs", "weigh"), "weight"),
    **dict.fromkeys(("rated", "scoring", "scored"), "rating"),
    **dict.fromkeys(
        ("lasting", "lasts", "lasted", "taking", "takes", "take", "took", "ran"), "length"
    ),
}
MONEY = word_set("dollars dollar euros euro pounds usd eur gbp bucks")
#: Names under which the field of a meaning is looked for, the likeliest first.
CONCEPTS = {
    "price": ("price", "cost", "amount", "unit price"),
    "sales": ("sales", "total sales", "sold", "units sold"),
    "age": ("age", "age years"),
    "rating": ("average rating", "rating", "score", "stars"),
    "popularity": ("popularity", "stargazers count", "stars", "followers", "views", "likes"),
    "height": ("height", "elevation"),
    "weight": ("weight", "mass"),
    "speed": ("speed", "max speed"),
    "length": ("length", "duration", "elapsed", "runtime", "minutes", "seconds", "hours"),
    "temperature": ("temperature", "temp"),
    "population": ("population",),
    "salary": ("salary", "pay", "wage"),
    "size": ("size",),
    "place": ("location", "city", "place", "address", "country"),
}
#: Adjectives for the first in an order: the meaning of the field, whether the largest is meant, and
#: a meaning that is ordered the other way round.
SUPERLATIVES: dict[str, tuple[str, bool, str]] = {
    **dict.fromkeys(("cheapest", "least expensive", "lowest priced"), ("price", False, "")),
    **dict.fromkeys(
        ("most expensive", "priciest", "costliest", "dearest", "highest priced"),
        ("price", True, ""),
    ),
    **{"oldest": ("age", True, "date"), "youngest": ("age", False, "date")},
    **dict.fromkeys(("newest", "latest", "most recent"), ("date", True, "")),
    "earliest": ("date", False, ""),
    **dict.fromkeys(
        ("best rated", "highest rated", "top rated", "best-rated", "highest-rated", "top-rated"),
        ("rating", True, ""),
    ),
    **dict.fromkeys(("worst rated", "lowest rated", "lowest-rated"), ("rating", False, "")),
    **{"best": ("rating", True, ""), "worst": ("rating", False, "")},
    **{"most popular": ("popularity", True, ""), "least popular": ("popularity", False, "")},
    **{"tallest": ("height", True, ""), "heaviest": ("weight", True, "")},
    **{"lightest": ("weight", False, ""), "fastest": ("speed", True, "length")},
    "quickest": ("speed", True, "length"),
    **{"slowest": ("speed", False, "length"), "longest": ("length", True, "")},
    "shortest": ("length", False, ""),
    **dict.fromkeys(("bestselling", "best-selling", "best selling"), ("sales", True, "")),
    **dict.fromkeys(("hottest", "warmest"), ("temperature", True, "")),
    **{"coldest": ("temperature", False, ""), "most populous": ("population", True, "")},
    **{"most populated": ("population", True, ""), "least populated": ("population", False, "")},
    **{"highest paid": ("salary", True, ""), "best paid": ("salary", True, "")},
    **{"highest-paid": ("salary", True, ""), "lowest paid": ("salary", False, "")},
}
#: Adjectives that need a field beside them.
EXTREMES = {
    **dict.fromkeys(("highest", "largest", "biggest", "greatest", "most", "maximum", "max"), "max"),
    **dict.fromkeys(("lowest", "smallest", "least", "fewest", "minimum", "min"), "min"),
}
AGGREGATES = {
    **dict.fromkeys(("sum", "total"), "sum"),
    **dict.fromkeys(("average", "mean", "avg"), "average"),
}
#: Verbs of dates, and what the name of the date has to have in it.
DATE_VERBS = {
    **dict.fromkeys(("hired", "employed", "joined"), ("hire", "start", "join", "employ", "since")),
    **dict.fromkeys(("released", "published", "launched"), ("release", "publish", "launch")),
    **{"born": ("birth", "born"), "died": ("death", "died"), "built": ("built", "construct")},
    **dict.fromkeys(("started", "begun"), ("start", "begin")),
    **dict.fromkeys(("booked", "ordered", "placed"), ("book", "order", "create", "date")),
    **dict.fromkeys(("opened", "made", "added", "posted", "written"), ("create", "add", "post")),
}
#: Words before a field that an entry has nothing in.
LACKING = ("without", "lacking", "missing", "with no", "have no", "has no")
#: Verbs for the person that made an entry: "opened by nina".
MADE_BY = word_set(
    "made created opened written posted authored submitted reported filed raised sent published "
    "triggered started run owned uploaded organised organized booked ordered placed added"
)
#: Words in the names of fields that hold a person.
MAKERS = word_set(
    "user author creator owner actor account by organizer organiser sender login assignee reporter "
    "customer username client from member poster"
)
#: Words after which a value may stand that a participle speaks of: "assigned to mara".
AFTER_PARTICIPLE = word_set("to by in at with as for on from")
DESCENDING = word_set("descending desc reverse reversed decreasing backwards")
ASCENDING = word_set("ascending asc increasing")
