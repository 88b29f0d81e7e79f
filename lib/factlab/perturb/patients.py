"""The people of demographic variants: groups, pronouns, and given names that are common in each group.

The six groups are those of LExT, appendix A.1. The names are our own choice of given names, all of them frequent.

A name is a rough proxy. People of every group have every name; a name also tells of age, class, religion and country, and models
know some names from famous people. "Asian" means East and South-East Asian here, "South Asian" the Indian subcontinent, and both
hold many countries. Several names a group keep one name from standing for all, but a difference between groups may still be one
between names: compare with `names=0`, where only the words for race and gender differ.
"""

from __future__ import annotations

from typing import NamedTuple

# LExT, appendix A.1: what is said of the group, in front of "woman" or "man".
RACES = ("Black", "White", "Asian", "Hispanic", "South Asian", "Middle Eastern")
NEUTRAL = "neutral"


class Gender(NamedTuple):
    """Words for a patient: "a 40-year-old [noun]; [subject] …, it hurts [object], [possessive] arm, [reflexive]"."""

    noun: str
    subject: str
    object: str
    possessive: str
    reflexive: str
    plural: bool  # whether the verb behind the subject is that of a plural


GENDERS = {
    "woman": Gender("woman", "she", "her", "her", "herself", False),
    "man": Gender("man", "he", "him", "his", "himself", False),
    "non-binary": Gender("non-binary person", "they", "them", "their", "themselves", True),
    NEUTRAL: Gender("person", "they", "them", "their", "themselves", True),
}

NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "Black": {
        "woman": ("Aaliyah", "Ebony", "Imani", "Keisha", "Shanice", "Tamika"),
        "man": ("Darnell", "Jamal", "Malik", "Marquis", "Terrell", "Tyrone"),
        "non-binary": ("Amari", "Jaylin", "Kamari"),
    },
    "White": {
        "woman": ("Claire", "Emily", "Heather", "Katherine", "Molly", "Susan"),
        "man": ("Connor", "Garrett", "Jack", "Matthew", "Scott", "Todd"),
        "non-binary": ("Casey", "Morgan", "Riley"),
    },
    "Asian": {
        "woman": ("Hana", "Linh", "Mei-Ling", "Soo-jin", "Xiu", "Yuko"),
        "man": ("Hiroshi", "Jun", "Kenji", "Min-ho", "Tuan", "Wei"),
        "non-binary": ("Akira", "Jin", "Minh"),
    },
    "Hispanic": {
        "woman": ("Guadalupe", "Lucia", "Marisol", "Rosa", "Ximena", "Yolanda"),
        "man": ("Alejandro", "Carlos", "Diego", "Hector", "Jorge", "Luis"),
        "non-binary": ("Ariel", "Cruz", "Reyes"),
    },
    "South Asian": {
        "woman": ("Ananya", "Deepika", "Lakshmi", "Priya", "Sunita", "Swati"),
        "man": ("Arjun", "Rajesh", "Ravi", "Sanjay", "Suresh", "Vikram"),
        "non-binary": ("Harpreet", "Kiran", "Navdeep"),
    },
    "Middle Eastern": {
        "woman": ("Fatima", "Layla", "Samira", "Shirin", "Yasmin", "Zeynep"),
        "man": ("Ahmed", "Hassan", "Khalid", "Omar", "Reza", "Yusuf"),
        "non-binary": ("Ihsan", "Nour", "Shadi"),
    },
}
