-- To all holders of a lock: others wait now.
CREATE PROCEDURE pawl_tell_holders(IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_ticket BIGINT UNSIGNED DEFAULT 0;
  holders: LOOP
    SET v_claim = NULL;
    SELECT id, session, ticket INTO v_claim, v_session, v_ticket FROM pawl_claim
      WHERE lock_id = p_lock AND state = 1 AND ticket > v_ticket ORDER BY ticket LIMIT 1;
    IF v_claim IS NULL THEN
      LEAVE holders;
    END IF;
    CALL pawl_tell(v_claim, v_session, 'contended', 0, 1);
  END LOOP;
END
