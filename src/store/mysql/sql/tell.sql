-- A notice for a claim. It is kept until the claim has asked, so that none is lost with the wake-up.
CREATE PROCEDURE pawl_tell(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_what VARBINARY(16),
                           IN p_counter BIGINT UNSIGNED, IN p_contended TINYINT)
BEGIN
  DECLARE v_mailbox VARBINARY(32) DEFAULT (SELECT mailbox FROM pawl_session WHERE id = p_session AND ends > @pawl_now);
  IF v_mailbox IS NOT NULL THEN
    INSERT INTO pawl_mail (mailbox, session, claim, what, epoch, counter, contended)
      VALUES (v_mailbox, p_session, p_claim, p_what, @pawl_epoch, p_counter, p_contended);
    IF LOCATE(v_mailbox, @pawl_wake) = 0 THEN
      SET @pawl_wake = CONCAT(@pawl_wake, v_mailbox, ',');
    END IF;
  END IF;
END
