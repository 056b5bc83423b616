"""Made-up values as flink-faker describes them: expressions, patterns, and the values of one record.

expressions   `#{Name.fullName} (#{number.numberBetween '1','9'})` as texts and calls
patterns      `[A-Z]{3}(a|b)?` as a tree from which texts are chosen
values        the functions by name; names, places and the like come from the library Faker
records       the records of a range of numbers: each is a function of the seed and its number alone
"""
