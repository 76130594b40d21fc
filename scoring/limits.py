"""Limits on what is read: generous for honest files, and met before memory is spent.

A prediction file at its limits is read in a second or two and 500 MB; a larger one is refused by
its size.
"""

from __future__ import annotations

MAX_PREDICTION_BYTES = 32 * 2**20
"""A prediction file: 1,000 detections with vectors of 1,203 classes take 25 MB."""

MAX_COORDINATE = 1e100
"""Pixels of a coordinate: areas of larger boxes, and their squares, are no numbers."""

MAX_DETECTIONS = 10_000
"""Detections of one pass over an image: detectors keep 100 to 1,000. Comparing two passes takes
the square of it."""

MAX_MARKS = 40 * MAX_DETECTIONS
"""Objects, lists and quotation marks of a prediction file: an honest detection has 13 to 20. Each
costs many times its bytes in memory."""

MAX_NUMBERS = 4_000_000
"""Numbers of a prediction file: 1,000 detections with vectors of 1,203 classes are 1.2 million."""

MAX_CLASSES = 100_000
"""Entries of a class vector: LVIS has 1,203 classes, ImageNet-21k 21,841."""

MAX_DEPTH = 1024
"""Lists and objects in each other, in numeric JSON: orjson's own limit."""

MAX_RECORD_DEPTH = 100
"""The same in manifests, facts and lists of images, which need six."""

MAX_NAME = 4096
"""Characters of an image's name or path, which no system exceeds."""

MAX_EXCHANGE_BYTES = 2**30
"""COCO files: the annotations of train2017 take 450 MB, those of LVIS's validation set 190 MB."""

MAX_MANIFEST_BYTES = 256 * 2**20
"""A manifest: a million images take some 200 MB."""

MAX_FACTS_BYTES = 256 * 2**20
"""Facts beside tables: where passes were curtailed they name every image under every mutant."""

MAX_LEDGER_LINE_BYTES = 2**20
"""A line of a ledger: 10,000 passes take 670 KB. Lines are read one by one, so that a ledger may
be of any length."""

MAX_EXPERIMENT_BYTES = 2**20
"""An experiment file: a thousand named suites take some 100 KB."""

MAX_EXPERIMENT_DEPTH = 32
"""Parts of a dotted key, and lists and tables in each other, of an experiment file, which needs
three. Time and stack grow with it."""

MAX_TABLE_BYTES = 512 * 2**20
"""A mutant's CSV: half a million images."""

MAX_LIST_BYTES = 64 * 2**20
"""A text or JSON list of images: half a million names."""

MAX_YAML_BYTES = 2**17
"""A YOLO data.yaml, a few paths and the names of classes: those of LVIS take 36 KB."""

MAX_PICKLE_BYTES = 16 * 2**20
"""A pickled list of paths: 200,000 and more."""

MAX_PICKLE_STEPS = 2_000_000
"""Instructions of a pickled list: a path takes about 14."""

MAX_PICKLE_CHARACTERS = 100_000_000
"""Of all paths of a pickled list, made and listed: one that is named again and again takes a few
bytes each time."""

MAX_CHECKPOINT_PICKLE_BYTES = 64 * 2**20
"""Names and shapes of a checkpoint, without its numbers: those of a detector take 50 KB."""

MAX_TUPLE_LEAVES = 1_000_000
"""Entries of a tuple of a checkpoint, those of tuples in it among them; shapes have up to five."""

MAX_PASSES = 100_000
"""T of a campaign: the study has 10."""
