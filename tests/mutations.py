"""Files that lie: small models and checkpoints, changed inside, with checksums that are right.

`write_mutated` changes one of the `originals` at random, and `judge` says what is wrong with the
way it is taken: nothing, if it is refused with the library's own error, or if it loads and predicts
finite probabilities that sum to one. The tests try a few hundred; `tools/fuzz.py` tries as many as
there is time for.
"""

import copy
import json
import warnings
from contextlib import suppress
from hashlib import sha256

import numpy as np
from originals import Original, in_small_steps

from dirichletgp import DirichletGPClassifier
from dirichletgp.persistence import ModelFileError, archive
from dirichletgp.persistence.archive import Archive, write_archive

EXTREMES = [
    *(0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 5e-324, 1e16, 0.5),
    *(2.0**-1022, -5e-324, 1e100, -1e100, 1e150, -1e150, 1e-150, 1e308, 2.0**53, 255.0, 1e8, 1e-8),
    *(1e-100, 30.0, -40.0),
]
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 624, 625, 2**31, 2**63, -(2**63), 10**40, 1e300, -1e300),
    *(float("nan"), float("inf"), 5e-324, 0.5, "", "rbf", "product", "auto", "quantile", "\ud800"),
    *("%", "%Y%Y", "O", "array", [], [[]], {}, {"array": "points"}, {"pairs": [[1, 2]]}, [1, 2, 3]),
    *({"list": [1]}, {"random_state": "points", "rest": [10**6, 0, 0.0]}),
    *(-0.0, float("-inf"), 1e-300, 1e100, 1e-9, 3.0, 1.0, 100, 10**4, 2**53, 10**4000, "x" * 10**5),
    *("\x00", "1", "nan", "None", [None], [[1, 2], [3, 4]], {"array": "prior"}, {"": {}}, [True]),
]
DTYPES = ["|b1", "|i1", "<i2", "<i8", "|u1", "<u4", "<u8", "<f2", "<f4", "<f8"]
IN_HEADERS = [">f8", ">i8", "|O", "|V8", "<c16", "<U8", "|S8", "<M8[s]", "f8", "<f16", "=f8", "<f8"]
SIZES = [0, 1, 2, 3, 2**31, 2**47, 2**48, 2**62, 2**63, 2**64, -1, 1.0, True, None, "1", 10**30]


# Mutations: each changes an archive in place, given a random generator.


def _places(value):
    """Every (container, key) inside a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _value(rng, before):
    """Something in the place of a JSON value."""
    if isinstance(before, int | float) and rng.random() < 0.3:
        return before * float(rng.choice([-1.0, 0.5, 1e3, 1e30, 1e-30, 1.0 + 1e-9])) + rng.integers(
            2
        )
    if isinstance(before, str) and rng.random() < 0.3:
        return before + "x" if rng.random() < 0.5 else before[:-1]
    return copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def change_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    container[key] = _value(rng, container[key])


def remove_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    del container[key]


def add_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    if isinstance(container, list):
        container.insert(int(rng.integers(len(container) + 1)), _value(rng, container[key]))
    else:
        container[str(rng.choice(["warm_up", "columns", "ard", "kinds", "n", "done"]))] = _value(
            rng, None
        )


def swap_json(rng, content, arrays):
    found = list(_places(content))
    (one, a), (other, b) = _pick(rng, found), _pick(rng, found)
    one[a] = copy.deepcopy(other[b])


def change_numbers(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name].copy()
    places = rng.integers(array.size, size=int(rng.choice([1, 1, 2, 5])))
    extreme = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            choices = [limits.min, limits.max, 0, 1, int(array.flat[places[0]]) + 1]
            array.flat[places] = np.array(choices[rng.integers(5)]).astype(array.dtype)
        else:
            array.flat[places] = np.array(extreme).astype(array.dtype)
    arrays[name] = array


def change_all_numbers(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    extreme = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = array * extreme if rng.random() < 0.5 else np.full(array.shape, extreme)
        arrays[name] = changed.astype(array.dtype)


def change_a_little(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    if array.dtype.kind == "f":
        arrays[name] = array * (1.0 + 10.0 ** rng.uniform(-12, 1) * rng.normal(size=array.shape))
        arrays[name] = arrays[name].astype(array.dtype)
    else:
        arrays[name] = array[rng.permutation(len(array))] if array.ndim else array


def change_shape(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    made = [
        lambda: array[:-1],
        lambda: array[:0],
        lambda: np.concatenate([array, array]),
        lambda: array.T,
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., :-1],
        lambda: np.zeros((0, 3)),
        lambda: np.array(1.0),
        lambda: array.reshape(-1, 1),
    ]
    if array.ndim:
        arrays[name] = made[rng.integers(len(made))]()


def change_type(rng, content, arrays):
    name = _name(rng, arrays)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays[name] = arrays[name].astype(DTYPES[rng.integers(len(DTYPES))])


def remove_array(rng, content, arrays):
    del arrays[_name(rng, arrays)]


def swap_arrays(rng, content, arrays):
    one, other = _name(rng, arrays), _name(rng, arrays)
    arrays[one], arrays[other] = arrays[other], arrays[one]


def change_bytes(rng, content, arrays):
    """Any bits: of an array of texts inside the file too."""
    name = _name(rng, arrays)
    raw = np.frombuffer(bytearray(arrays[name].tobytes()), dtype=np.uint8)
    if len(raw):
        places = rng.integers(len(raw), size=int(rng.integers(1, 9)))
        raw[places] = rng.integers(256, size=len(places))
        arrays[name] = raw.view(arrays[name].dtype).reshape(arrays[name].shape)


def reinterpret_bytes(rng, content, arrays):
    """The same bytes as numbers of another type, or in another order."""
    name = _name(rng, arrays)
    array = arrays[name]
    if rng.random() < 0.5:
        arrays[name] = array.byteswap()
    else:
        same_size = [t for t in DTYPES[1:] if np.dtype(t).itemsize == array.itemsize]
        arrays[name] = array.view(_pick(rng, same_size))


def swap_arrays_alike(rng, content, arrays):
    """Two arrays of one shape and type in each other's place."""
    name = _name(rng, arrays)
    array = arrays[name]
    alike = [
        other
        for other, its in arrays.items()
        if other != name and (its.shape, its.dtype) == (array.shape, array.dtype)
    ]
    other = _pick(rng, alike)
    arrays[name], arrays[other] = arrays[other], array


def reorder_array(rng, content, arrays):
    """The numbers of an array in another order, or some of them in the place of others."""
    name = _name(rng, arrays)
    array = arrays[name]
    axis = int(rng.integers(array.ndim))
    n = array.shape[axis]
    orders = [
        rng.permutation(n),
        np.arange(n)[::-1],
        rng.integers(n, size=n),
        np.full(n, rng.integers(n)),
        np.roll(np.arange(n), 1),
    ]
    arrays[name] = np.take(array, _pick(rng, orders), axis=axis)


def draw_numbers(rng, content, arrays):
    """Numbers of any size."""
    name = _name(rng, arrays)
    array = arrays[name]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        size = 10.0 ** rng.choice([rng.uniform(-320, 308), rng.uniform(-9, 9)])
        drawn = size * rng.normal(size=array.shape)
        drawn = np.abs(drawn) if rng.random() < 0.5 else drawn
        arrays[name] = drawn.astype(array.dtype)


def change_sign_or_scale(rng, content, arrays):
    """All numbers of one sign, or all arrays in another unit."""
    factor = float(rng.choice([-1.0, 1e-300, 1e-30, 1e30, 1e99, 1e149, 2.0]))
    names = list(arrays) if rng.random() < 0.2 else [_name(rng, arrays)]
    with np.errstate(all="ignore"):
        for name in names:
            if arrays[name].dtype.kind == "f":
                arrays[name] = arrays[name] * arrays[name].dtype.type(factor)


def change_size(rng, content, arrays):
    """One size, wherever it stands: fewer or more classes, points, features or rows."""
    name = _name(rng, arrays)
    n = int(_pick(rng, arrays[name].shape))
    places = np.arange(n)
    orders = [places[:-1], np.append(places, n - 1), places[1:], np.repeat(places, 2), places[::2]]
    order = _pick(rng, orders)
    for name, array in arrays.items():
        for axis in range(array.ndim):
            if array.shape[axis] == n:
                array = np.take(array, order, axis=axis)
        arrays[name] = array
    for container, key in list(_places(content)):
        if container[key] == n and type(container[key]) is int:
            container[key] = len(order)
        elif isinstance(container[key], list) and len(container[key]) == n:
            container[key] = [copy.deepcopy(container[key][i]) for i in order.tolist()]


def rename_array(rng, content, arrays):
    name = _name(rng, arrays)
    names = [name + "x", name.upper(), "", "../" + name, _name(rng, arrays), "extras/a", "\ud800"]
    arrays[_pick(rng, names)] = arrays.pop(name)


def change_list(rng, content, arrays):
    """Items of a list twice, missing, or in another order: categories, classes, names, rows."""
    lists = [(c, key) for c, key in _places(content) if isinstance(c[key], list) and c[key]]
    container, key = _pick(rng, lists)
    items = container[key]
    n = len(items)
    orders = [
        rng.permutation(n),
        rng.integers(n, size=n),
        np.append(np.arange(n), rng.integers(n)),
        np.arange(n)[::-1],
        np.repeat(np.arange(n), 1_000)[:10_000],
    ]
    container[key] = [copy.deepcopy(items[i]) for i in _pick(rng, orders).tolist()]


def change_type_of_json(rng, content, arrays):
    """The same value as another type: 3 as 3.0, "3", true, [3]."""
    container, key = _pick(rng, list(_places(content)))
    value = container[key]
    ways = [float, int, str, bool, lambda v: [v], lambda v: {"array": v}, repr]
    container[key] = _pick(rng, ways)(value)


def change_text(rng, content, arrays):
    """A text much longer, empty, like another, or with characters that are none."""
    texts = [(c, key) for c, key in _places(content) if isinstance(c[key], str)]
    container, key = _pick(rng, texts)
    other, at = _pick(rng, texts)
    value = container[key]
    changed = [
        "",
        value[:100] * 10_000,
        other[at],
        value.upper(),
        value + "\x00",
        "\ud800",
        value[::-1],
    ]
    container[key] = _pick(rng, changed)


def rename_key(rng, content, arrays):
    objects = [(c, key) for c, key in _places(content) if isinstance(c, dict)]
    (container, key), (_, other) = _pick(rng, objects), _pick(rng, objects)
    container[_pick(rng, [other, key + "x", ""])] = container.pop(key)


def change_extras(rng, content, arrays):
    """The JSON inside of what a file keeps for others."""
    names = [name for name in arrays if name.startswith("extras/")]
    name = _pick(rng, names)
    described = json.loads(arrays[name].tobytes())
    _pick(rng, [change_json, remove_json, swap_json, change_type_of_json])(rng, described, arrays)
    arrays[name] = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)


def _name(rng, arrays):
    if not arrays:
        return _nothing(arrays)
    return list(arrays)[rng.integers(len(arrays))]


def _nothing(arrays):
    arrays["nothing"] = np.zeros(1)
    return "nothing"


def _pick(rng, items):
    return items[rng.integers(len(items))]


# What is most likely to be permitted and still wrong is most often tried: extremes, one or many.
MUTATIONS = [
    *(change_json, change_json, change_json, change_json, remove_json, add_json, swap_json),
    *(change_list, change_type_of_json, change_text, rename_key),
    *(change_numbers, change_numbers, change_numbers, change_numbers, change_a_little),
    *(change_all_numbers, change_all_numbers, change_all_numbers, change_all_numbers),
    *(draw_numbers, draw_numbers, change_sign_or_scale, change_sign_or_scale),
    *(reorder_array, swap_arrays_alike, reinterpret_bytes),
    *(change_shape, change_size, change_type, remove_array, rename_array, swap_arrays),
    change_bytes,
]


def write_mutated(rng, original, path, others=()):
    """Write a changed file with right checksums; parts of `others` may take the place of its."""
    content = copy.deepcopy(original.archive.content)
    arrays = dict(original.archive.arrays)
    if others and rng.random() < 0.05:
        _mix(rng, content, arrays, _pick(rng, others).archive)
    n = int(rng.choice([1, 1, 1, 2, 3]))
    while n:
        # Not every change is possible after others: an empty array has no numbers to change.
        with suppress(ValueError, TypeError, IndexError, OverflowError, AttributeError, KeyError):
            has_extras = any(name.startswith("extras/") for name in arrays)
            change = change_extras if has_extras and rng.random() < 0.2 else _pick(rng, MUTATIONS)
            change(rng, content, arrays)
            n -= 1
    write_archive(path, original.kind, Archive(content, arrays))
    if rng.random() < 0.15:
        path.write_bytes(_with_changed_header(rng, path.read_bytes()))


def _mix(rng, content, arrays, other):
    """Some parts of another file in the place of those of the same name."""
    for name in [name for name in other.arrays if rng.random() < 0.3]:
        arrays[name] = other.arrays[name]
    for key in [key for key in other.content if rng.random() < 0.3]:
        content[key] = copy.deepcopy(other.content[key])


def _with_changed_header(rng, saved):
    """A saved file with a header that says something else, types and shapes of arrays perhaps."""
    start = 56 + int.from_bytes(saved[16:24], "little")
    header = json.loads(saved[56:start])
    text = None
    with suppress(OverflowError, IndexError, TypeError, ValueError):
        text = _pick(rng, HEADERS)(rng, header)
    text = json.dumps(header).encode() if text is None else text
    length = len(text).to_bytes(8, "little")
    return archive.MAGIC + length + sha256(text).digest() + text + saved[start:]


def _any_value(rng, header):
    part = header["members"] if rng.random() < 0.7 and header["members"] else header
    container, key = _pick(rng, list(_places(part)))
    container[key] = _value(rng, container[key])


def _any_shape(rng, header):
    shape = _pick(rng, header["members"])["shape"]
    shape[rng.integers(len(shape))] = _pick(rng, SIZES)
    if rng.random() < 0.3:
        shape.append(_pick(rng, SIZES))


def _any_dtype(rng, header):
    _pick(rng, header["members"])["dtype"] = _pick(rng, IN_HEADERS)


def _members(rng, header):
    """Members in another order, twice, or not there."""
    members = header["members"]
    order = _pick(rng, [rng.permutation(len(members)), rng.integers(len(members), size=3)])
    header["members"] = [members[i] for i in order.tolist()]


def _nested(rng, header):
    """Lists or objects in each other, in the place of any value."""
    container, key = _pick(rng, list(_places(header)))
    container[key] = "the place"
    depth = int(_pick(rng, [10, 500, 990, 5_000, 100_000]))
    nested = _pick(rng, ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth])
    return json.dumps(header).replace('"the place"', nested).encode()


def _number(rng, header):
    """A number as nobody writes it, in the place of any value."""
    container, key = _pick(rng, list(_places(header)))
    container[key] = "the place"
    ways = ["1e999", "-1e999", "NaN", "9" * 4_000, "9" * 6_000, "1E400", "-0", "0.1e-400", "00"]
    return json.dumps(header).replace('"the place"', _pick(rng, ways)).encode()


def _key_twice(rng, header):
    text = json.dumps(header)
    key = _pick(rng, ["content", "members", "kind", "format_version"])
    value = json.dumps(_value(rng, None))
    return (text[:-1] + f', "{key}": {value}' + "}").encode()


def _encoded(rng, header):
    text = (
        json.dumps(header, ensure_ascii=False)
        .encode(errors="surrogatepass")
        .decode(errors="replace")
    )
    return text.encode(_pick(rng, ["utf-16", "utf-32", "utf-8-sig", "utf-7", "utf-16-be"]))


HEADERS = [
    *(_any_value, _any_value, _any_shape, _any_shape, _any_dtype, _members),
    *(_nested, _number, _key_twice, _encoded),
]


# Judges: what is wrong with the way a file is taken, or None.


def judge(original: Original, path):
    """What is wrong with the way a changed file is taken; None if nothing is."""
    check = _wrong_with_checkpoint if original.kind == "checkpoint" else _wrong_with_model
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return check(original, path)
    except ModelFileError:
        return None


def _wrong_with_model(original, path):
    from dirichletgp.cli import info
    from dirichletgp.cli.table_model import TableModel

    classifier = DirichletGPClassifier.load(path)
    if any(name.startswith("extras/") for name in original.archive.arrays):
        model = TableModel.load(path)
        info._lines(info._content(path))
        model.needed  # noqa: B018
    try:
        probabilities = classifier.predict_proba(original.rows)
    except ValueError as error:
        # A model may have other columns than the rows, and say so.
        return None if "X" in str(error) else repr(error)
    bounds = classifier.predict_interval(original.rows)
    if not np.all(np.isfinite(bounds)) or np.any(bounds[0] > bounds[1] + 1e-9):
        return f"interval {bounds[0][:1].tolist()} to {bounds[1][:1].tolist()}"
    uncertainty = classifier.predict_uncertainty(original.rows)
    if not np.all(np.isfinite(uncertainty)) or np.min(uncertainty) < -1e-9:
        return f"uncertainty {[list(part[:2]) for part in uncertainty]}"
    labels = classifier.predict(original.rows)
    if not np.all(np.isin(labels, classifier.classes_)):
        return f"labels {labels.tolist()}"
    return _wrong_with_probabilities(probabilities) or _wrong_with_logs(
        classifier.predict_log_proba(original.rows)
    )


def _wrong_with_checkpoint(original, path):
    X, y = original.rows
    assert original.make is not None
    with in_small_steps():
        try:
            classifier = original.make().fit(X, y, checkpoint=path)
        except ModelFileError:
            raise
        except ValueError as error:
            return None if "is that of a fit" in str(error) else repr(error)
    return _wrong_with_probabilities(classifier.predict_proba(X[:5]))


def _wrong_with_probabilities(p):
    if not np.all(np.isfinite(p)) or np.any(p < 0) or np.any(np.abs(p.sum(axis=1) - 1) > 1e-6):
        return f"probabilities {p[:2].tolist()}"
    return None


def _wrong_with_logs(logs):
    return None if np.all(np.isfinite(logs) & (logs <= 1e-9)) else f"logs {logs[:2].tolist()}"
