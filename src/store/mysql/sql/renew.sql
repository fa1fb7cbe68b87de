-- All locks of a session with one statement. Never creates, and never brings back one that was marked as ended. Locks the session's row and nothing else.
-- Returns rows: lives (1 or 0), claim, seq: the claims that were sent a notice and have not asked since, 1001 at the most;
-- one row with NULL when there are none.
CREATE PROCEDURE pawl_renew(IN p_session VARBINARY(32))
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE v_lives TINYINT;
  UPDATE pawl_session SET ends = v_now + lease WHERE id = p_session AND ends > v_now AND lease > 0;
  SET v_lives = EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session AND ends > v_now AND lease > 0);
  SELECT v_lives, m.claim, m.seq
    FROM (SELECT 1) one LEFT JOIN
         (SELECT claim, MAX(seq) AS seq FROM pawl_mail WHERE session = p_session GROUP BY claim LIMIT 1001) m ON TRUE;
END
