CREATE TEMPORARY VIEW people (name, age) AS VALUES ('Ann', 31), ('Bob', 25), ('Cid', 40);
SELECT name FROM people WHERE age > 30;
