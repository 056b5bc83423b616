-- As in a managed service, where a table is a topic without saying so.
CREATE TABLE visits (
  visitor STRING,
  page STRING,
  visited_at TIMESTAMP(3),
  WATERMARK FOR visited_at AS visited_at
);

SELECT page, window_start, COUNT(DISTINCT visitor) AS visitors
FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(visited_at), INTERVAL '1' HOUR))
GROUP BY page, window_start, window_end;
