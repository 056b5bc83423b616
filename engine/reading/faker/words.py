"""Words for the functions of flink-faker that published examples call and that the library Faker does not have."""

from __future__ import annotations

from typing import Final

_FRUIT: Final = "apple|apricot|banana|blueberry|cherry|fig|grape|kiwi|lemon|mango|orange|peach|pear|plum|raspberry"
_VEGETABLES: Final = "beetroot|broccoli|cabbage|carrot|celery|cucumber|leek|lettuce|onion|pea|pepper|potato|spinach"
_SPICES: Final = "basil|cardamom|chilli|cinnamon|clove|coriander|cumin|ginger|nutmeg|oregano|pepper|saffron|turmeric"
_DISHES: Final = "bean stew|caesar salad|cheese pizza|chicken curry|fish and chips|lasagne|mushroom risotto|pho|ramen"
_ANIMALS: Final = "badger|bear|beaver|camel|deer|elephant|fox|giraffe|hare|hedgehog|lion|otter|owl|panda|seal|wolf"
_DOGS: Final = "beagle|border collie|boxer|dachshund|dalmatian|golden retriever|greyhound|husky|poodle|pug|terrier"
_CATS: Final = "abyssinian|bengal|birman|british shorthair|maine coon|norwegian forest cat|persian|ragdoll|siamese"
_BEERS: Final = "amber ale|bock|dubbel|dunkel|helles|india pale ale|kolsch|lambic|pilsner|porter|stout|tripel|weissbier"
_WIZARDS: Final = "Albus Dumbledore|Draco Malfoy|Ginny Weasley|Harry Potter|Hermione Granger|Luna Lovegood|Minerva "
_SPELLS: Final = "Accio|Alohomora|Expecto Patronum|Expelliarmus|Lumos|Nox|Obliviate|Protego|Reparo|Stupefy|Wingardium "
_HOUSES: Final = "Gryffindor|Hufflepuff|Ravenclaw|Slytherin"
_HEROES: Final = "Atom Falcon|Captain Comet|Doctor Frost|Green Shadow|Iron Wolf|Lady Storm|Night Arrow|Silver Hawk"
_INSTRUMENTS: Final = "accordion|cello|clarinet|drums|flute|guitar|harp|oboe|piano|saxophone|trumpet|tuba|viola|violin"
_GENRES: Final = "blues|classical|country|electronic|folk|funk|hip hop|jazz|metal|pop|punk|reggae|rock|soul"
_WEATHER: Final = "clear|cloudy|drizzle|fog|hail|light rain|overcast|rain|sleet|snow|sunny|thunderstorm|windy"

WORDS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(listed.split("|"))
    for listed, names in (
        (_FRUIT, "food.fruit"),
        (_VEGETABLES, "food.vegetable"),
        (_SPICES, "food.spice"),
        (f"{_FRUIT}|{_VEGETABLES}|{_SPICES}", "food.ingredient"),
        (_DISHES, "food.dish"),
        (_ANIMALS, "animal.name"),
        (_DOGS, "dog.breed"),
        (_CATS, "cat.breed"),
        (_BEERS, "beer.name beer.style"),
        (f"{_WIZARDS}McGonagall|Ron Weasley|Rubeus Hagrid|Severus Snape", "harrypotter.character"),
        (f"{_SPELLS}Leviosa", "harrypotter.spell"),
        (_HOUSES, "harrypotter.house"),
        (_HEROES, "superhero.name"),
        (_INSTRUMENTS, "music.instrument"),
        (_GENRES, "music.genre"),
        (_WEATHER, "weather.description"),
    )
    for name in names.split()
}
"""By name, the words of which one is chosen."""


def words_of(name: str) -> tuple[str, ...] | None:
    """The words of a function, whose name may be written in the plural."""
    return WORDS.get(name) or WORDS.get(name.removesuffix("s")) or WORDS.get(name.removesuffix("es"))
