CREATE CATALOG lake WITH ('type' = 'iceberg', 'catalog-type' = 'hadoop', 'warehouse' = 's3://lake/');
CREATE TABLE customers (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'mysql-cdc', 'hostname' = 'mysql', 'port' = '3306', 'username' = 'u', 'password' = 'p',
  'database-name' = 'shop', 'table-name' = 'customers'
);
CREATE TABLE index_of_customers (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'elasticsearch-7', 'hosts' = 'http://es:9200', 'index' = 'customers'
);
INSERT INTO index_of_customers SELECT id, UPPER(name) FROM customers;
