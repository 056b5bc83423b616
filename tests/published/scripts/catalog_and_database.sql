CREATE DATABASE IF NOT EXISTS shop;
USE shop;
CREATE TABLE shop.t (a INT) WITH ('connector' = 'filesystem', 'path' = '/data/shop', 'format' = 'csv');
INSERT INTO `default_catalog`.`shop`.`t` VALUES (4);
SELECT a FROM default_catalog.shop.t;
