-- Which orders arrive outside a store's opening hours?
CREATE TEMPORARY TABLE stores (
  store_id INT,
  name STRING,
  opens TIME,
  closes TIME(0),
  PRIMARY KEY (store_id) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'path' = '/data/stores', 'format' = 'csv');

CREATE TEMPORARY TABLE tickets (
  ticket_id BIGINT,
  store_id INT,
  sold_at TIMESTAMP(3),
  WATERMARK FOR sold_at AS sold_at - INTERVAL '10' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'tickets', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');

INSERT INTO stores VALUES
  (1, 'North', TIME '08:00:00', TIME '18:00:00'),
  (2, 'South', TIME '10:30:00', TIME '22:00:00');
INSERT INTO tickets VALUES
  (100, 1, TIMESTAMP '2024-03-04 07:59:30'),
  (101, 1, TIMESTAMP '2024-03-04 08:00:00'),
  (102, 2, TIMESTAMP '2024-03-04 22:15:00'),
  (103, 2, TIMESTAMP '2024-03-04 12:00:00.500');

SELECT t.ticket_id, s.name, CAST(t.sold_at AS TIME) AS at_time, s.opens, s.closes,
       CASE WHEN CAST(t.sold_at AS TIME) BETWEEN s.opens AND s.closes THEN 'open' ELSE 'closed' END AS state
FROM tickets t JOIN stores s ON t.store_id = s.store_id;

SELECT store_id, MIN(CAST(sold_at AS TIME)) AS first_sale, MAX(CAST(sold_at AS TIME)) AS last_sale,
       HOUR(MAX(CAST(sold_at AS TIME))) AS h
FROM tickets GROUP BY store_id;
