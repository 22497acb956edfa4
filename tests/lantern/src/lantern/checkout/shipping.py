"""What a parcel costs: the tariffs of our three carriers, by country and weight.

Prices are what the buyer pays, in cents with VAT, as agreed for 1 September 2025 to 31 August 2026. They include
packaging and the carriers' fuel surcharge, which is fixed for the term. A carrier that is missing for a country does
not go there. Whoever changes a table changes `VALID_FROM` too: the storefront keeps offers until then.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from lantern.money import Cents

VALID_FROM = date(2025, 9, 1)
VALID_UNTIL = date(2026, 8, 31)


class NoOffer(LookupError):
    """No carrier takes this parcel to this place."""


class Parcel(NamedTuple):
    """What matters of a parcel: its weight with packaging, and whether a lithium battery is in it (UN 3481)."""

    grams: int
    has_battery: bool = False


class Tariff(NamedTuple):
    """A carrier's prices for a country: up to 1, 2, 5, 10 and 20 kg; and the working days that it takes."""

    kg_1: int
    kg_2: int
    kg_5: int
    kg_10: int
    kg_20: int
    days: int

    def price(self, grams: int) -> Cents | None:
        """The price of a weight; None if it is more than 20 kg."""
        for limit, price in zip(WEIGHTS, self, strict=False):
            if grams <= limit:
                return Cents(price)
        return None


class Offer(NamedTuple):
    """What a carrier would take for a parcel, and until when it would be there."""

    price: Cents
    days: int
    carrier: str


WEIGHTS = (1_000, 2_000, 5_000, 10_000, 20_000)  # grams, the upper ends of the columns

# Postillion: goes everywhere in our list, takes batteries if they are built into the lamp.
POSTILLION = {
    "AT": Tariff(899, 1049, 1349, 1799, 2699, days=3),  # Austria
    "BE": Tariff(899, 1049, 1349, 1799, 2699, days=3),  # Belgium
    "BG": Tariff(1949, 2249, 2849, 3749, 5649, days=7),  # Bulgaria
    "CH": Tariff(1349, 1599, 2049, 2749, 4249, days=5),  # Switzerland
    "CY": Tariff(2499, 2899, 3599, 4799, 7099, days=8),  # Cyprus
    "CZ": Tariff(899, 1049, 1349, 1799, 2699, days=3),  # Czechia
    "DE": Tariff(449, 549, 699, 949, 1549, days=2),  # Germany
    "DK": Tariff(999, 1149, 1449, 1899, 2799, days=3),  # Denmark
    "EE": Tariff(1349, 1599, 2049, 2749, 4249, days=6),  # Estonia
    "ES": Tariff(1399, 1649, 2099, 2799, 4299, days=5),  # Spain
    "FI": Tariff(1349, 1599, 2049, 2749, 4249, days=5),  # Finland
    "FR": Tariff(1199, 1399, 1749, 2299, 3449, days=4),  # France
    "GB": Tariff(1899, 2199, 2799, 3699, 5599, days=6),  # United Kingdom
    "GR": Tariff(1999, 2299, 2899, 3799, 5699, days=6),  # Greece
    "HR": Tariff(1349, 1599, 2049, 2749, 4249, days=6),  # Croatia
    "HU": Tariff(1099, 1299, 1649, 2199, 3349, days=4),  # Hungary
    "IE": Tariff(1499, 1749, 2199, 2899, 4399, days=5),  # Ireland
    "IT": Tariff(1249, 1449, 1799, 2349, 3499, days=5),  # Italy
    "LI": Tariff(1449, 1699, 2149, 2849, 4349, days=5),  # Liechtenstein
    "LT": Tariff(1399, 1649, 2099, 2799, 4299, days=5),  # Lithuania
    "LU": Tariff(999, 1149, 1449, 1899, 2799, days=3),  # Luxembourg
    "LV": Tariff(1399, 1649, 2099, 2799, 4299, days=5),  # Latvia
    "MT": Tariff(2449, 2849, 3549, 4749, 7049, days=8),  # Malta
    "NL": Tariff(999, 1149, 1449, 1899, 2799, days=3),  # Netherlands
    "NO": Tariff(1849, 2149, 2749, 3649, 5549, days=7),  # Norway
    "PL": Tariff(1149, 1349, 1699, 2249, 3399, days=5),  # Poland
    "PT": Tariff(1399, 1649, 2099, 2799, 4299, days=5),  # Portugal
    "RO": Tariff(1999, 2299, 2899, 3799, 5699, days=7),  # Romania
    "SE": Tariff(1149, 1349, 1699, 2249, 3399, days=4),  # Sweden
    "SI": Tariff(1099, 1299, 1649, 2199, 3349, days=5),  # Slovenia
    "SK": Tariff(1099, 1299, 1649, 2199, 3349, days=5),  # Slovakia
}

# Kurierwerk: a day faster and by hand to the door; takes batteries of every kind.
KURIERWERK = {
    "AT": Tariff(1199, 1399, 1799, 2349, 3499, days=2),  # Austria
    "BE": Tariff(1349, 1549, 1949, 2499, 3649, days=2),  # Belgium
    "CH": Tariff(1899, 2249, 2799, 3699, 5599, days=4),  # Switzerland
    "CZ": Tariff(1349, 1549, 1949, 2499, 3649, days=2),  # Czechia
    "DE": Tariff(689, 819, 1009, 1329, 2099, days=1),  # Germany
    "DK": Tariff(1299, 1499, 1899, 2449, 3599, days=2),  # Denmark
    "ES": Tariff(1899, 2249, 2799, 3699, 5599, days=4),  # Spain
    "FR": Tariff(1699, 1949, 2399, 3099, 4549, days=3),  # France
    "HU": Tariff(1599, 1849, 2299, 2999, 4449, days=3),  # Hungary
    "IT": Tariff(1599, 1849, 2299, 2999, 4449, days=3),  # Italy
    "LT": Tariff(1899, 2249, 2799, 3699, 5599, days=4),  # Lithuania
    "LU": Tariff(1349, 1549, 1949, 2499, 3649, days=2),  # Luxembourg
    "LV": Tariff(1899, 2249, 2799, 3699, 5599, days=5),  # Latvia
    "NL": Tariff(1299, 1499, 1899, 2449, 3599, days=2),  # Netherlands
    "PL": Tariff(1599, 1849, 2299, 2999, 4449, days=4),  # Poland
    "SE": Tariff(1649, 1899, 2349, 3049, 4499, days=3),  # Sweden
    "SI": Tariff(1699, 1949, 2399, 3099, 4549, days=3),  # Slovenia
    "SK": Tariff(1549, 1799, 2249, 2949, 4399, days=4),  # Slovakia
}

# Nordfracht: by lorry and ferry around the Baltic and the North Sea. No batteries on the ferries.
NORDFRACHT = {
    "BE": Tariff(849, 949, 1249, 1649, 2449, days=4),  # Belgium
    "DE": Tariff(399, 479, 619, 839, 1359, days=3),  # Germany
    "DK": Tariff(799, 899, 1199, 1599, 2399, days=4),  # Denmark
    "EE": Tariff(1249, 1449, 1849, 2449, 3799, days=6),  # Estonia
    "FI": Tariff(1299, 1499, 1899, 2499, 3849, days=6),  # Finland
    "LT": Tariff(1199, 1399, 1799, 2399, 3749, days=7),  # Lithuania
    "LU": Tariff(749, 849, 1149, 1549, 2349, days=4),  # Luxembourg
    "LV": Tariff(1349, 1549, 1949, 2549, 3899, days=7),  # Latvia
    "NL": Tariff(799, 899, 1199, 1599, 2399, days=4),  # Netherlands
    "NO": Tariff(1649, 1949, 2449, 3249, 4949, days=8),  # Norway
    "PL": Tariff(999, 1199, 1499, 1999, 2999, days=6),  # Poland
    "SE": Tariff(1049, 1249, 1549, 2049, 3049, days=6),  # Sweden
}

CARRIERS = {"Postillion": POSTILLION, "Kurierwerk": KURIERWERK, "Nordfracht": NORDFRACHT}

# What each takes on top for a parcel with a lithium battery; None: does not carry it.
BATTERY_SURCHARGE: dict[str, int | None] = {"Postillion": 0, "Kurierwerk": 190, "Nordfracht": None}

# What each takes on top for the places below; None: does not go there.
REMOTE_SURCHARGE: dict[str, int | None] = {"Postillion": 890, "Kurierwerk": None, "Nordfracht": 1290}

# Postcodes, or how they begin, of islands and other places to which the lorry does not go by itself.
REMOTE = {
    "DE": (
        "18565",  # Hiddensee
        "25849",  # Pellworm
        "25859",  # Hooge
        "25863",  # Langeneß
        "25869",  # Gröde
        "25938",  # Föhr
        "25946",  # Amrum
        "25980",  # Sylt
        "25992",  # List auf Sylt
        "25996",  # Wenningstedt
        "25997",  # Hörnum
        "25999",  # Kampen
        "26465",  # Langeoog
        "26474",  # Spiekeroog
        "26486",  # Wangerooge
        "26548",  # Norderney
        "26571",  # Juist
        "26579",  # Baltrum
        "26757",  # Borkum
        "27498",  # Helgoland
        "83256",  # Fraueninsel
    ),
    "DK": ("37", "4791", "4944", "5943", "5960", "5970", "5985", "6720", "6792", "8305", "9940", "9990"),
    "ES": ("07", "35", "38", "51", "52"),  # Balearics, Canaries, Ceuta, Melilla
    "FI": ("22",),  # Åland
    "FR": ("20", "971", "972", "973", "974", "976"),  # Corsica and overseas
    "GB": ("BT", "GY", "HS", "IM", "JE", "KW15", "KW16", "KW17", "ZE"),
    "GR": ("18", "28", "31", "49", "63", "64", "7", "80", "81", "82", "83", "84", "85"),
    "IT": ("07", "08", "09", "80073", "80074", "80075", "90", "91", "92", "98"),  # Sardinia, Sicily and small islands
    "NL": (
        "1791",
        "1793",
        "1794",
        "1795",
        "1796",
        "1797",
        "8881",
        "8891",
        "8896",
        "8899",
        "9161",
        "9163",
        "9164",
        "9166",
    ),
    "NO": ("8", "9"),  # north of Trondheim
    "PT": ("90", "91", "92", "93", "94", "95", "96", "97", "98", "99"),  # Madeira and the Azores
    "SE": ("62", "93", "94", "95", "96", "97", "98"),  # Gotland and Norrland
}

# Free of charge from so much on, by country; None of these for parcels over 10 kg.
FREE_FROM = {"AT": 9_900, "BE": 9_900, "DE": 4_900, "LU": 9_900, "NL": 9_900}
_FREE_UP_TO = 10_000  # grams


def is_remote(country: str, postcode: str) -> bool:
    """Whether a postcode is one of a place that costs more."""
    plain = "".join(postcode.upper().split()).removeprefix(f"{country}-")
    return plain.startswith(REMOTE.get(country, ("-",)))


def surcharge(carrier: str, parcel: Parcel, *, remote: bool) -> Cents | None:
    """What a carrier takes on top; None if it does not take the parcel at all."""
    asked = [BATTERY_SURCHARGE[carrier]] if parcel.has_battery else []
    asked += [REMOTE_SURCHARGE[carrier]] if remote else []
    if None in asked:
        return None
    return Cents(sum(amount or 0 for amount in asked))


def offers(parcel: Parcel, country: str, postcode: str) -> list[Offer]:
    """What the carriers offer, cheapest first; of two at one price the faster first."""
    remote = is_remote(country, postcode)
    found = []
    for carrier, tariffs in CARRIERS.items():
        tariff = tariffs.get(country)
        price = tariff.price(parcel.grams) if tariff else None
        extra = surcharge(carrier, parcel, remote=remote)
        if tariff and price is not None and extra is not None:
            found.append(Offer(Cents(price + extra), tariff.days, carrier))
    return sorted(found)


def cheapest(parcel: Parcel, country: str, postcode: str) -> Offer:
    """The offer that an order gets if the buyer chooses none; raises NoOffer if there is none."""
    found = offers(parcel, country, postcode)
    if not found:
        raise NoOffer(f"{parcel.grams} g to {country} {postcode}")
    return found[0]


def fastest(parcel: Parcel, country: str, postcode: str) -> Offer:
    """The offer behind the button “faster”; raises NoOffer if there is none."""
    found = offers(parcel, country, postcode)
    if not found:
        raise NoOffer(f"{parcel.grams} g to {country} {postcode}")
    return min(found, key=lambda offer: (offer.days, offer.price))


def is_free(parcel: Parcel, country: str, goods: Cents) -> bool:
    """Whether goods of this value are sent free of charge."""
    return country in FREE_FROM and goods >= FREE_FROM[country] and parcel.grams <= _FREE_UP_TO
