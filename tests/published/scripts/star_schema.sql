CREATE TABLE sales (sale_id INT, product INT, shop INT, qty INT, proctime AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 'sales', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE products (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://db:5432/shop', 'table-name' = 'products', 'username' = 'u', 'password' = 'p');
CREATE TABLE shops (id INT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://db:3306/shop', 'table-name' = 'shops');
SELECT s.sale_id, p.name, h.city, s.qty
FROM sales AS s
LEFT JOIN products FOR SYSTEM_TIME AS OF s.proctime AS p ON s.product = p.id
LEFT JOIN shops FOR SYSTEM_TIME AS OF s.proctime AS h ON s.shop = h.id;
