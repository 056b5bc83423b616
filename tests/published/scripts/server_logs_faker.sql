CREATE TABLE server_logs (
    client_ip STRING, client_identity STRING, userid STRING, user_agent STRING, log_time TIMESTAMP(3),
    request_line STRING, status_code STRING, size INT,
    WATERMARK FOR log_time AS log_time - INTERVAL '15' SECONDS
) WITH (
  'connector' = 'faker', 'rows-per-second' = '5',
  'fields.client_ip.expression' = '#{Internet.publicIpV4Address}',
  'fields.client_identity.expression' = '-',
  'fields.userid.expression' = '-',
  'fields.user_agent.expression' = '#{Internet.userAgentAny}',
  'fields.log_time.expression' = '#{date.past ''15'',''5'',''SECONDS''}',
  'fields.request_line.expression' = '#{regexify ''(GET|POST|PUT|PATCH){1}''} #{regexify ''(/search\.html|/login\.html|/cart\.html){1}''} #{regexify ''(HTTP/1\.1|HTTP/2){1}''}',
  'fields.status_code.expression' = '#{regexify ''(200|201|204|400|403|301){1}''}',
  'fields.size.expression' = '#{number.numberBetween ''100'',''10000000''}'
);
SELECT COUNT(DISTINCT client_ip) AS ip_addresses, TUMBLE_PROCTIME(log_time, INTERVAL '1' MINUTE) AS window_interval FROM server_logs GROUP BY TUMBLE(log_time, INTERVAL '1' MINUTE);
