#!/usr/bin/env python3
"""Prints table.txt: the results of OpenCL C's type conversions, computed with fractions and by search, unlike clreel does it.

A binary number is found by bisection among all values of its format; a value between two neighbours is rounded by
comparing distances. Run it again with: tests/conformance/table.py > tests/conformance/table.txt

A line is a case and, for each number of its source (the line `inputs` before), the result in hexadecimal digits: `-` is
undefined, `n` any NaN.
"""

import random
from fractions import Fraction
from math import floor

WHOLE = {"char": (8, 1), "uchar": (8, 0), "short": (16, 1), "ushort": (16, 0), "int": (32, 1), "uint": (32, 0),
         "long": (64, 1), "ulong": (64, 0)}
# The numbers of exponent and fraction bits.
BINARY = {"half": (5, 10), "float": (8, 23), "double": (11, 52)}
TYPES = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double"]
MODES = ["", "_rte", "_rtz", "_rtp", "_rtn"]


def bits_of(name):
    return WHOLE[name][0] if name in WHOLE else 1 + sum(BINARY[name])


def magnitude(name, bits):
    """Returns the value of a binary number without its sign; infinity is where the next larger number would be."""
    width, fraction = BINARY[name]
    bias = 2 ** (width - 1) - 1
    exponent, rest = divmod(bits, 2 ** fraction)
    if exponent == 0:
        return Fraction(rest, 2 ** fraction) * Fraction(2) ** (1 - bias)
    return (1 + Fraction(rest, 2 ** fraction)) * Fraction(2) ** (exponent - bias)


def value(name, bits):
    """Returns a fraction and its sign, which zero has too; or 'nan', or 'inf'."""
    if name in WHOLE:
        width, signed = WHOLE[name]
        number = bits - 2 ** width if signed and bits >= 2 ** (width - 1) else bits
        return (-1 if number < 0 else 1), Fraction(abs(number))
    width, fraction = BINARY[name]
    sign = -1 if bits >> (width + fraction) else 1
    rest = bits & (2 ** (width + fraction) - 1)
    infinity = (2 ** width - 1) << fraction
    if rest > infinity:
        return sign, "nan"
    if rest == infinity:
        return sign, "inf"
    return sign, magnitude(name, rest)


def to_whole(name, sign, number, saturates, mode, from_whole):
    width, signed = WHOLE[name]
    low, high = (-2 ** (width - 1), 2 ** (width - 1) - 1) if signed else (0, 2 ** width - 1)
    if number == "nan":
        return 0 if saturates else None
    if number == "inf":
        return (low if sign < 0 else high) % 2 ** width if saturates else None
    exact = sign * number
    below = floor(exact)
    rest = exact - below
    if rest == 0 or mode == "_rtn":
        whole = below
    elif mode == "_rtp":
        whole = below + 1
    elif mode == "_rte":
        near = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
        whole = below + 1 if near else below
    else:
        whole = below + 1 if exact < 0 else below
    if low <= whole <= high or (from_whole and not saturates):
        return whole % 2 ** width
    return min(max(whole, low), high) % 2 ** width if saturates else None


def to_binary(name, sign, number, mode):
    width, fraction = BINARY[name]
    infinity = (2 ** width - 1) << fraction
    top = 0 if sign > 0 else 1 << (width + fraction)
    if number == "nan":
        return "n"
    if number == "inf":
        return top | infinity
    low, high = 0, infinity
    while high - low > 1:
        middle = (low + high) // 2
        if magnitude(name, middle) <= number:
            low = middle
        else:
            high = middle
    below, above = magnitude(name, low), magnitude(name, high)
    if number == below:
        result = low
    elif mode == "_rtz" or (mode == "_rtp" and sign < 0) or (mode == "_rtn" and sign > 0):
        result = low
    elif mode in ("_rtp", "_rtn"):
        result = high
    else:
        down, up = number - below, above - number
        result = low if down < up or (down == up and low % 2 == 0) else high
    return top | result


def inputs(name, random):
    width = bits_of(name)
    if name in WHOLE:
        edges = {0, 1, 2 ** width - 1, 2 ** (width - 1), 2 ** (width - 1) - 1, 2 ** (width - 1) + 1}
        for small in (7, 8, 15, 16, 24, 31, 32, 53):
            if small < width:
                edges |= {2 ** small - 1, 2 ** small, 2 ** small + 1, 2 ** width - 2 ** small - 1}
        edges |= {random.getrandbits(width) for _ in range(4)}
        edges |= {random.getrandbits(width) >> random.randrange(width) for _ in range(4)}
        return sorted(edges)
    exponent, fraction = BINARY[name]
    bias = 2 ** (exponent - 1) - 1
    top = 1 << (width - 1)
    infinity = (2 ** exponent - 1) << fraction
    positive = {0, 1, 2 ** fraction - 1, 2 ** fraction, infinity - 1, infinity, infinity + 1,
                infinity + 2 ** (fraction - 1)}

    def near(power, extra=Fraction(0)):
        """Returns the numbers of the format next to 2^power + extra, as bits."""
        number = Fraction(2) ** power + extra
        found = to_binary(name, 1, number, "_rtz")
        return {found, found + 1, max(found - 1, 0)} if found < infinity else set()

    for power, extra in ((-1, 0), (0, Fraction(1, 2)), (1, Fraction(1, 2)), (7, Fraction(-1, 2)), (8, Fraction(-1, 2)), (15, 0),
                         (16, Fraction(-1, 2)), (31, 0), (32, Fraction(-1, 2)), (63, 0), (64, 0), (-14, 0), (-25, 0), (-126, 0),
                         (-150, 0), (128, -Fraction(2) ** 103), (16, -16)):
        positive |= near(power, Fraction(extra))
    positive |= {random.getrandbits(width - 1) for _ in range(3)}
    positive |= {(random.randrange(bias - 2, min(bias + 66, 2 * bias)) << fraction) | random.getrandbits(fraction) for _ in range(4)}
    return sorted(positive | {top | bits for bits in positive if random.random() < 0.6 or bits < 2})


def main():
    dice = random.Random(18)
    print("# Made by table.py.")
    for source in TYPES:
        numbers = inputs(source, dice)
        print("inputs", source, " ".join(f"{bits:x}" for bits in numbers))
        for to in TYPES:
            for saturates in (False, True) if to in WHOLE else (False,):
                for mode in MODES:
                    row = []
                    for bits in numbers:
                        sign, number = value(source, bits)
                        if to in WHOLE:
                            result = to_whole(to, sign, number, saturates, mode, source in WHOLE)
                        else:
                            result = to_binary(to, sign, number, mode)
                        row.append("-" if result is None else result if result == "n" else f"{result:x}")
                    print(f"{to}{'_sat' if saturates else ''}{mode}_{source}", " ".join(row))


main()
