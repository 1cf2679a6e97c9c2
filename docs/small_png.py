"""PNGs of flat colours made small: at most 256 colours, one byte a pixel. Nothing but the standard library."""
import collections
import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_COLOURS = 256


def chunks_of(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def nearest_of_three(left, up, corner):
    """The predictor of Paeth (PNG specification, 9.4)."""
    guess = left + up - corner
    return min((left, up, corner), key=lambda value: abs(guess - value))


def unfiltered(rows, stride, step):
    """The bytes of every row; `rows` begin with the number of their filter (PNG specification, 9)."""
    before = bytearray(stride)
    for at in range(0, len(rows), stride + 1):
        kind, row = rows[at], bytearray(rows[at + 1:at + 1 + stride])
        if kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, before))
        elif kind != 0:
            for i in range(stride):
                left = row[i - step] if i >= step else 0
                corner = before[i - step] if i >= step else 0
                guess = {1: left, 3: (left + before[i]) // 2, 4: nearest_of_three(left, before[i], corner)}[kind]
                row[i] = (row[i] + guess) & 255
        yield row
        before = row


def pixels_of(data):
    """Width and rows of (red, green, blue); of an opaque PNG of 8 bits a channel."""
    parts = list(chunks_of(data))
    width, _, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", dict(parts)[b"IHDR"])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError(f"expected a PNG of 8 bits a channel, found depth {depth}, colour type {kind}")
    step = {2: 3, 6: 4}[kind]
    rows = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    return width, [[bytes(row[i:i + 3]) for i in range(0, len(row), step)] for row in unfiltered(rows, width * step, step)]


def distance(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def small_png(data):
    """The same picture in its most frequent colours; rarer ones (edges of letters) become the nearest of these."""
    width, rows = pixels_of(data)
    count = collections.Counter(pixel for row in rows for pixel in row)
    palette = sorted(count, key=lambda pixel: (-count[pixel], pixel))[:MOST_COLOURS]
    place = {pixel: i for i, pixel in enumerate(palette)}
    for pixel in count:
        if pixel not in place:
            place[pixel] = min(range(len(palette)), key=lambda i: distance(palette[i], pixel))
    body = b"".join(b"\0" + bytes(place[pixel] for pixel in row) for row in rows)
    return (SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))
