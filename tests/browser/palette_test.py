"""Colours of kinds stay apart for eyes that lack a kind of cone, and carry readable texts."""
import itertools
import math
import pathlib
import re
import unittest

PALETTE = pathlib.Path(__file__).resolve().parents[2] / "reports/template/palette.js"
LEAST_DISTANCE = 12  # in CIE Lab; 2.3 is just noticed

# Machado, Oliveira, Fernandes 2009, table 1, severity 1.0: on linear RGB.
EYES = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(rgb):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]


def luminance(rgb):
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear(rgb)))


def contrast(a, b):
    """WCAG 2 contrast ratio of two colours in 0…1."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(linear_rgb):
    r, g, b = (min(1, max(0, c)) for c in linear_rgb)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen(colour, eye):
    rgb = linear([int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)])
    return lab([sum(weight * c for weight, c in zip(row, rgb)) for row in EYES[eye]])


def kinds():
    text = PALETTE.read_text(encoding="utf-8")
    block = text[text.index("const KINDS"):text.index("};")]
    return {a.strip("'"): c for a, c in re.findall(r"^\s+('[^']+'|\w+): '(#\w{6})'", block, re.M)}


class Palette(unittest.TestCase):
    def test_kinds_stay_apart(self):
        colours = kinds()
        self.assertGreaterEqual(len(colours), 12)
        for (a, one), (c, other) in itertools.combinations(colours.items(), 2):
            for eye in EYES:
                distance = math.dist(seen(one, eye), seen(other, eye))
                self.assertGreater(distance, LEAST_DISTANCE, f"{a} and {c} for {eye} eyes")

    def test_digits_on_cells_are_white_and_readable(self):
        colours = kinds()
        for kind in ("forward", "backward", "backward input", "backward weight"):
            rgb = [int(colours[kind][i:i + 2], 16) / 255 for i in (1, 3, 5)]
            self.assertGreaterEqual(contrast(rgb, [1, 1, 1]), 4.5, kind)
