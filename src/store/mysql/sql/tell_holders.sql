-- To the holders of a lock, some at a time: others wait now. p_after: the ticket of the last one that was told; 0: none yet. Where
-- it stopped is noted in pawl_untold, and pawl_settle() goes on.
CREATE PROCEDURE pawl_tell_holders(IN p_lock VARBINARY(255), IN p_after BIGINT UNSIGNED)
BEGIN
  DECLARE v_claim, v_session VARBINARY(32);
  DECLARE v_ticket BIGINT UNSIGNED DEFAULT p_after;
  DECLARE v_more TINYINT DEFAULT 0;
  holders: LOOP
    SET v_claim = NULL;
    SELECT id, session, ticket INTO v_claim, v_session, v_ticket FROM pawl_claim
      WHERE lock_id = p_lock AND state = 1 AND ticket > v_ticket ORDER BY ticket LIMIT 1;
    IF v_claim IS NULL THEN
      LEAVE holders;
    END IF;
    CALL pawl_tell(v_claim, v_session, 'contended', 0, 1);
    SET @pawl_budget = @pawl_budget - 1;
    IF @pawl_budget <= 0 THEN
      SET v_more = 1;
      LEAVE holders;
    END IF;
  END LOOP;
  IF v_more THEN
    INSERT INTO pawl_untold VALUES (p_lock, v_ticket) ON DUPLICATE KEY UPDATE ticket = v_ticket;
    INSERT IGNORE INTO pawl_unsettled VALUES (p_lock);
  ELSEIF p_after > 0 THEN
    DELETE FROM pawl_untold WHERE lock_id = p_lock;
  END IF;
END
