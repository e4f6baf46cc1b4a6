"""The rules: mistakes that people make in JavaScript, and what is tried instead.

One table for each family; `rule` says how they are read.
"""

from __future__ import annotations

from runtrue.fixers.search.javascript.rule import RuleSet, rules

#: Comparison operators: the boundary, the direction, the strictness.
COMPARISONS = rules(
    "comparison",
    """
    $A < $B → $A <= $B ¦ $A > $B ~2 ¦ $A >= $B ~3 ¦ $A !== $B ~8
    $A <= $B → $A < $B ¦ $A >= $B ~2 ¦ $A > $B ~3 ¦ $A === $B ~8
    $A > $B → $A >= $B ¦ $A < $B ~2 ¦ $A <= $B ~3 ¦ $A !== $B ~8
    $A >= $B → $A > $B ¦ $A <= $B ~2 ¦ $A < $B ~3 ¦ $A === $B ~8
    $A === $B → $A !== $B ~1.5 ¦ $A == $B ~3 ¦ $A >= $B ~6 ¦ $A <= $B ~6 ¦ Object.is($A, $B) ~8
    $A !== $B → $A === $B ~1.5 ¦ $A != $B ~3 ¦ $A > $B ~6 ¦ $A < $B ~6
    $A > $B && $C < $D → $A >= $B && $C <= $D ~2
    $A >= $B && $C <= $D → $A > $B && $C < $D ~2
    $A > $B || $C < $D → $A >= $B || $C <= $D ~2
    $A < $B || $C > $D → $A <= $B || $C >= $D ~2
    $A == $B → $A === $B ¦ $A != $B ~1.5 ¦ $A >= $B ~6 ¦ $A <= $B ~6
    $A != $B → $A !== $B ¦ $A == $B ~1.5 ¦ $A > $B ~6 ¦ $A < $B ~6
    $A in $B → Object.hasOwn($B, $A) ~2 ¦ Object.prototype.hasOwnProperty.call($B, $A) ~2
    """,
)
#: Conditions that mean more, or less, than they say: 0, '' and NaN are false.
FALSY = rules(
    "falsy",
    """
    $A || $B → $A ?? $B ¦ $A === undefined ? $B : $A ~3
    $A ?? $B → $A || $B
    !$A → $A === undefined ~2 ¦ $A == null ~2 ¦ $A === null ~4 ¦ $A.length === 0 ~6
    $A ? $B : $C → $A !== undefined ? $B : $C ~2 ¦ $A != null ? $B : $C ~2
    $A && $B → $A !== undefined && $B ~5 ¦ $A != null && $B ~4
    $A == null → $A === undefined ~3 ¦ $A === null ~3
    $A != null → $A !== undefined ~3 ¦ $A !== null ~3
    $A === undefined → $A == null ~1.5 ¦ !$A ~4
    $A !== undefined → $A != null ~1.5
    $A === null → $A == null ~1.5 ¦ $A === undefined ~2
    $A !== null → $A != null ~1.5 ¦ $A !== undefined ~2
    typeof $A === 'undefined' → $A == null ~2
    !$A → $A == null || $A === '' ~4
    $A[$B] → $B in $A ~4 ¦ Object.hasOwn($A, $B) ~5
    $A < 0 → !($A >= 0) ~4 ¦ !($A > 0) ~4
    """,
)
#: Boolean operators and negation.
BOOLEANS = rules(
    "boolean",
    """
    $A || $B → $A && $B ¦ $A ~4 ¦ $B ~4
    $A && $B → $A || $B ¦ $A ~4 ¦ $B ~4
    $A ?? $B → $A ~8
    !$A → $A
    $A ? $B : $C → $A ? $C : $B ~1.5 ¦ $B ~8 ¦ $C ~8
    true → false
    false → true
    """,
)
#: Arithmetic, rounding, and one too many or too few.
ARITHMETIC = rules(
    "arithmetic",
    """
    $A + $B → $A - $B ¦ $A * $B ~3 ¦ $A ~4 ¦ $B ~5
    $A - $B → $A + $B ¦ $B - $A ~1.5 ¦ $A ~4 ¦ $A / $B ~6
    $A * $B → $A / $B ~1.5 ¦ $A + $B ~2 ¦ $A ** $B ~3 ¦ $A ~4
    $A / $B → $A * $B ~1.5 ¦ $A % $B ~2 ¦ $B / $A ~3 ¦ Math.floor($A / $B) ~2 ¦ $A ~5
    $A % $B → $A / $B ~2 ¦ (($A % $B) + $B) % $B ~2 ¦ Math.floor($A / $B) ~3
    $A ** $B → $A * $B ~1.5
    -$A → $A
    Math.floor($A) → Math.ceil($A) ¦ Math.round($A) ¦ Math.trunc($A) ¦ $A ~4
    Math.ceil($A) → Math.floor($A) ¦ Math.round($A) ¦ $A ~4
    Math.round($A) → Math.floor($A) ¦ Math.ceil($A) ¦ Math.trunc($A) ~2 ¦ $A ~4
    Math.trunc($A) → Math.floor($A) ¦ Math.round($A)
    Math.max($$$A) → Math.min($$$A)
    Math.min($$$A) → Math.max($$$A)
    Math.max(Math.min($A, $B), $C) → Math.min(Math.max($A, $B), $C)
    Math.min(Math.max($A, $B), $C) → Math.max(Math.min($A, $B), $C)
    $A / $B → ($A % ($B * 60)) / $B ~6
    Math.abs($A) → $A ~3
    $A & $B → $A | $B ¦ $A ^ $B ~2
    $A | $B → $A & $B ¦ $A ^ $B ~2
    $A << $B → $A >> $B ¦ $A * Math.pow(2, $B) ~2
    $A >> $B → $A >>> $B ¦ $A << $B
    $A >>> $B → $A >> $B
    """,
)
UPDATES = rules(
    "augmented",
    """
    $A += $B → $A -= $B ¦ $A = $B ~2 ¦ $A *= $B ~3
    $A -= $B → $A += $B ¦ $A = $B ~3
    $A *= $B → $A /= $B ¦ $A += $B
    $A /= $B → $A *= $B ¦ $A -= $B ~3
    $A ||= $B → $A ??= $B ¦ $A &&= $B ~3
    $A ??= $B → $A ||= $B
    $A = $B → $A += $B ~2 ¦ $A ||= $B ~4 ¦ $A &&= $B ~5 ¦ $A -= $B ~6 ¦ $A *= $B ~6
    $A.set($B, $C) → $A.set($B, ($A.get($B) ?? 0) + $C) ~2
    $A++ → $A-- ¦ ++$A ~3
    $A-- → $A++ ¦ --$A ~3
    ++$A → --$A ¦ $A++ ~3
    --$A → ++$A ¦ $A-- ~3
    """,
)
OFF_BY_ONE = rules(
    "off_by_one",
    """
    $A + 1 → $A ¦ $A - 1 ~2 ¦ $A + 2 ~3
    $A - 1 → $A ¦ $A + 1 ~2 ¦ $A - 2 ~3
    $A.length → $A.length - 1 ¦ $A.length + 1 ~3
    $A < $B → $A < ($B) - 1 ~3 ¦ $A < ($B) + 1 ~4
    $A <= $B → $A <= ($B) - 1 ~4 ¦ $A <= ($B) + 1 ~5
    $A[$B] → $A[($B) - 1] ~2 ¦ $A[($B) + 1] ~2
    $A[$B][$C] → $A[$C][$B]
    $A[$B + 1] → $A[($B + 1) % $A.length] ~2
    $A[$B - 1] → $A[($B - 1 + $A.length) % $A.length] ~3
    $A.slice($B, $C) → $A.slice($B, ($B) + ($C)) ~1.5
    $A.substr($B, $C) → $A.substring($B, $C)
    $A * $B → ($A - 1) * $B ~3 ¦ ($A + 1) * $B ~3
    $A / $B → ($A - 1) / $B ~4 ¦ ($A + 1) / $B ~4
    $A.slice($B, $C) → $A.slice($B, ($C) + 1) ~1.5 ¦ $A.slice($B, ($C) - 1) ~2
        ¦ $A.slice(($B) + 1, $C) ~2 ¦ $A.slice(($B) - 1, $C) ~3
    $A.slice($B) → $A.slice(($B) + 1) ~1.5 ¦ $A.slice(($B) - 1) ~2 ¦ $A.slice(-($B)) ~2
        ¦ $A.slice(0, $B) ~2
    $A.substring($B, $C) → $A.substring($B, ($C) + 1) ~1.5 ¦ $A.substring(($B) + 1, $C) ~2
    $A.getMonth() → $A.getMonth() + 1
    $A.getUTCMonth() → $A.getUTCMonth() + 1
    new Date($A, $B, $C) → new Date($A, ($B) - 1, $C) ~1.5
    new Date($A, $B) → new Date($A, ($B) - 1) ~1.5
    Date.UTC($A, $B, $C) → Date.UTC($A, ($B) - 1, $C) ~1.5
    """,
)
#: Calls that want something else: a radix, a comparator, a copy, all elements instead of a list.
CALLS = rules(
    "call",
    """
    parseInt($A) → parseInt($A, 10) ¦ parseFloat($A) ~2 ¦ Number($A) ~2
    parseInt($A, $B) → parseInt($A, 10) ~2 ¦ parseFloat($A) ~2 ¦ Number($A) ~3
    parseFloat($A) → Number($A) ~2 ¦ parseInt($A, 10) ~2
    Number($A) → parseInt($A, 10) ~3 ¦ parseFloat($A) ~3
    isNaN($A) → Number.isNaN($A)
    Number.isNaN($A) → isNaN($A)
    isFinite($A) → Number.isFinite($A)
    $A.sort() → $A.sort((a, b) => a - b) ~0.3 ¦ [...$A].sort() ~2 ¦ $A.sort((a, b) => b - a) ~3
        ¦ $A.sort((a, b) => a.localeCompare(b)) ~4 ¦ [...$A].sort((a, b) => a - b) ~3
    $A.sort($B) → [...$A].sort($B) ~1.5 ¦ $A.slice().sort($B) ~3
    $A.reverse() → [...$A].reverse() ~1.5 ¦ $A ~3
    $A.splice($$$A) → $A.slice($$$A) ¦ [...$A].splice($$$A) ~3
    $A.splice($B) → $A.splice($B, 1) ¦ $A.slice($B) ~2
    $A.slice($$$A) → $A.splice($$$A) ~3
    $A.indexOf($B) → $A.includes($B) ~2 ¦ $A.indexOf($B) !== -1 ~1.5 ¦ $A.lastIndexOf($B) ~1.5
    $A.indexOf($B) > 0 → $A.includes($B) ¦ $A.indexOf($B) !== -1 ¦ $A.indexOf($B) === 0 ~3
    $A.join() → $A.join('') ¦ $A.join(' ') ~2 ¦ $A.join(', ') ~2
    $A.split(' ') → $A.split(/\\s+/)
    $A.split('\\n') → $A.split(/\\r?\\n/)
    $A.padStart($B) → $A.padStart($B, '0')
    $A.map(parseInt) → $A.map((one) => parseInt(one, 10)) ~0.3 ¦ $A.map(Number) ~2
    $A.map(Number) → $A.map((one) => parseInt(one, 10)) ~4
    [...$A] → $A.map((one) => ({ ...one })) ~5
    $A.fill(new Array($B).fill($C)) → $A.fill().map(() => new Array($B).fill($C)) ~0.5
    new Set($A) → new Set([$A]) ~3
    $A.set($B, $C) → $A.delete($B) ~5
    $A.push($B) → $A.push(...$B) ~1.5
    $A.split() → $A.split('') ¦ $A.split(' ') ~2 ¦ $A.split(',') ~2
    $A.push($B) → $A.push(...$B) ~2 ¦ $A.unshift($B) ~2
    $A.concat($B) → $B.concat($A) ~2 ¦ $A.concat([$B]) ~3
    $A.replace($B, $C) → $A.replaceAll($B, $C) ~1.5 ¦ $A.split($B).join($C) ~3
    $A.map($B) → $A.flatMap($B) ~3 ¦ $A.filter($B) ~3
    $A.find($B) → $A.filter($B) ~3 ¦ $A.findLast($B) ~4
    $A.reduce($B) → $A.reduce($B, 0) ¦ $A.reduce($B, []) ~3 ¦ $A.reduce($B, {}) ~3
        ¦ $A.reduce($B, '') ~3
    $A.fill([]) → $A.fill().map(() => []) ~0.3
    $A.fill($B) → $A.fill().map(() => $B) ~3
    $A.flat() → $A.flat(Infinity) ~2
    $A.toString() → String($A) ~3 ¦ $A.toString(16) ~6 ¦ $A.toString(2) ~6
    Math.max($A) → Math.max(...$A) ~0.3 ¦ Math.max($A, 0) ~2 ¦ Math.max($A, 1) ~3
    Math.min($A) → Math.min(...$A) ~0.3
    Object.assign($A, $B) → Object.assign({}, $A, $B) ¦ Object.assign($B, $A) ~3
    Object.keys($A) → Object.values($A) ¦ Object.entries($A)
    Object.values($A) → Object.keys($A) ¦ Object.entries($A)
    Object.entries($A) → Object.keys($A) ¦ Object.values($A)
    Object.freeze($A) → $A ~4
    Promise.all($A) → Promise.allSettled($A) ~2
    Promise.race($A) → Promise.any($A) ¦ Promise.all($A) ~2
    $A.call(this, $B) → $A.apply(this, $B) ~2
    $A.apply($B, $C) → $A.call($B, $C) ~2
    $A.hasOwnProperty($B) → Object.prototype.hasOwnProperty.call($A, $B) ~1.5
    new Set($A) → [...new Set($A)] ~2
    new Array($A) → [$A] ~4
    $A($B) → $A(...$B) ~5
    new $A($$$A) → $A($$$A) ~6
    """,
)
#: Conversions that are missing, or too many.
CONVERSIONS = rules(
    "convert",
    """
    $A + $B → Number($A) + Number($B) ~3 ¦ $A + Number($B) ~4 ¦ Number($A) + $B ~4
        ¦ String($A) + $B ~5
    $A === $B → String($A) === String($B) ~8 ¦ Number($A) === Number($B) ~8
    $A < $B → Number($A) < Number($B) ~5
    $A > $B → Number($A) > Number($B) ~5
    Number($A) → $A ~4
    String($A) → $A ~4
    $A.toString() → $A ~4
    $A.length → [...$A].length ~8
    $A.split('') → [...$A] ~3 ¦ Array.from($A) ~4
    """,
)
#: What kind of thing a value is.
TYPES = rules(
    "type_guard",
    """
    typeof $A === 'object' → typeof $A === 'object' && $A !== null
        ¦ typeof $A === 'object' && $A !== null && !Array.isArray($A) ~2 ¦ Array.isArray($A) ~2
    typeof $A == 'object' → $A && typeof $A == 'object' ¦ Array.isArray($A) ~2
    typeof $A === 'array' → Array.isArray($A) ~0.2
    typeof $A !== 'object' → typeof $A !== 'object' || $A === null
        ¦ typeof $A !== 'object' || $A === null || Array.isArray($A) ~2
    typeof $A === 'number' → typeof $A === 'number' && !Number.isNaN($A) ~2
        ¦ Number.isFinite($A) ~2 ¦ Number.isInteger($A) ~3
    typeof $A !== 'number' → typeof $A !== 'number' || Number.isNaN($A) ~2
        ¦ !Number.isFinite($A) ~3
    $A instanceof Array → Array.isArray($A)
    $A instanceof Object → typeof $A === 'object' && $A !== null
    Array.isArray($A) → !Array.isArray($A) ~3 ¦ typeof $A === 'object' ~5
    $A === NaN → Number.isNaN($A) ~0.2
    $A !== NaN → !Number.isNaN($A) ~0.2
    $A == NaN → Number.isNaN($A) ~0.2
    """,
)
#: Values that may not be there.
OPTIONAL = rules(
    "optional",
    """
    $A.$P → $A?.$P ~2
    $A[$B] → $A?.[$B] ~3
    $A.$P($$$A) → $A?.$P($$$A) ~3 ¦ $A.$P?.($$$A) ~4
    $A[$B] → ($A[$B] ?? 0) ~5 ¦ ($A[$B] || 0) ~6 ¦ ($A[$B] ?? '') ~8 ¦ ($A[$B] || []) ~8
    $A($$$A) → $A?.($$$A) ~8
    !$A[$B].$P($C) → $B < $A.length && !$A[$B].$P($C) ~3
    """,
)
#: Promises.
ASYNC = rules(
    "await",
    """
    $A($$$A) → await $A($$$A) ~2
    $A.map($B) → await Promise.all($A.map($B)) ~3 ¦ Promise.all($A.map($B)) ~4
    await $A → $A ~4
    $A.push($B) → $A.push(await $B) ~2
    return $A($$$A); → return await $A($$$A); ~2
    """,
)
#: What is shared and should be a copy, and the other way round.
COPIES = rules(
    "copy",
    """
    return $N; → return [...$N]; ~6 ¦ return { ...$N }; ~6 ¦ return $N.slice(); ~8
    $A = $N → $A = [...$N] ~5 ¦ $A = { ...$N } ~5 ¦ $A = structuredClone($N) ~8
    const $A = $N; → const $A = new Date($N); ~6
    let $A = $N; → let $A = new Date($N); ~6
    $A[$B] = $C → $A[$B] ??= $C ~2 ¦ $A[$B] ||= $C ~4 ¦ $A[$B].push($C) ~3
        ¦ ($A[$B] ??= []).push($C) ~5
    let $A = $N; → let $A = [...$N]; ~4 ¦ let $A = { ...$N }; ~4
    const $A = $N; → const $A = [...$N]; ~4 ¦ const $A = { ...$N }; ~4
        ¦ const $A = $N.slice(); ~6 ¦ const $A = structuredClone($N); ~8
    [...$A, ...$B] → [...$B, ...$A]
    [...$A, $B] → [$B, ...$A] ¦ [...$A, ...$B] ~2
    [$A, ...$B] → [...$B, $A]
    ({ ...$A, ...$B }) → ({ ...$B, ...$A })
    [...$A] → $A ~5
    """,
)
#: `this`, and values of a function that are lost.
FLOW = rules(
    "flow",
    """
    break; → continue; ~2
    continue; → break; ~2 ¦ return; ~4
    return; → continue; ~3 ¦ break; ~4
    return $A; → throw $A; ~5
    """,
)
OPERANDS = rules(
    "operand_swap",
    """
    $A < $B → $B < $A ~6
    $A - $B → $B - $A ~2
    $A / $B → $B / $A ~3
    $A % $B → $B % $A ~4
    $A + $B → $B + $A ~3
    $A.localeCompare($B) → $B.localeCompare($A) ~2
    $A.test($B) → $B.test($A) ~4
    $A.includes($B) → $B.includes($A) ~3
    $A.startsWith($B) → $B.startsWith($A) ~3
    $A || $B → $B || $A ~4
    $A && $B → $B && $A ~4
    """,
)

RULES = RuleSet(
    (
        *COMPARISONS,
        *FALSY,
        *BOOLEANS,
        *ARITHMETIC,
        *UPDATES,
        *OFF_BY_ONE,
        *CALLS,
        *CONVERSIONS,
        *TYPES,
        *OPTIONAL,
        *ASYNC,
        *COPIES,
        *FLOW,
        *OPERANDS,
    )
)

#: Names that people take for one another, as properties or as functions.
FAMILIES: tuple[tuple[str, ...], ...] = (
    ("indexOf", "lastIndexOf", "findIndex", "search"),
    ("push", "unshift"),
    ("pop", "shift"),
    ("map", "forEach", "filter", "flatMap"),
    ("some", "every"),
    ("find", "filter", "findIndex", "findLast", "some"),
    ("keys", "values", "entries"),
    ("trim", "trimStart", "trimEnd"),
    ("startsWith", "endsWith", "includes"),
    ("toLowerCase", "toUpperCase"),
    ("toLocaleLowerCase", "toLocaleUpperCase"),
    ("replace", "replaceAll"),
    ("substring", "substr", "slice"),
    ("charAt", "charCodeAt", "codePointAt", "at"),
    ("fromCharCode", "fromCodePoint"),
    ("padStart", "padEnd"),
    ("reduce", "reduceRight"),
    ("getMonth", "getDate", "getDay"),
    ("getFullYear", "getYear"),
    ("getHours", "getUTCHours"),
    ("getDate", "getUTCDate"),
    ("getMonth", "getUTCMonth"),
    ("getFullYear", "getUTCFullYear"),
    ("getDay", "getUTCDay"),
    ("setMonth", "setDate"),
    ("setDate", "setUTCDate"),
    ("has", "get", "delete"),
    ("set", "add"),
    ("match", "matchAll"),
    ("test", "exec"),
    ("toFixed", "toPrecision", "toString"),
    ("isInteger", "isSafeInteger", "isFinite"),
    ("floor", "ceil", "round", "trunc"),
    ("max", "min"),
    ("log", "log2", "log10"),
    ("sin", "cos"),
    ("stringify", "parse"),
    ("encodeURI", "encodeURIComponent"),
    ("decodeURI", "decodeURIComponent"),
    ("setTimeout", "setImmediate"),
    ("then", "catch", "finally"),
    ("all", "allSettled", "race", "any"),
    ("on", "once", "off"),
    ("resolve", "reject"),
    ("assign", "create"),
    ("first", "last"),
    ("left", "right"),
    ("start", "end"),
    ("width", "height"),
    ("row", "column"),
    ("x", "y"),
    ("head", "tail"),
    ("next", "prev"),
    ("length", "size"),
    ("parseInt", "parseFloat", "Number"),
    ("MAX_VALUE", "MIN_VALUE", "MAX_SAFE_INTEGER"),
)
#: Strings that `typeof` gives.
TYPE_NAMES = ("string", "number", "object", "undefined", "function", "boolean", "symbol", "bigint")
