-- Records a claim as one that waits for a lock. It is served when it takes the lock itself: the order is for people.
CREATE PROCEDURE pawl_wait(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB,
                           IN p_delay BIGINT, IN p_label BLOB)
BEGIN
  SET @pawl_counter = @pawl_counter + 1;
  INSERT IGNORE INTO pawl_lock VALUES (p_lock, p_name, 0, 0, '');
  INSERT INTO pawl_claim VALUES (p_claim, p_session, p_lock, 0, 0, 0, p_delay, @pawl_now, NULL, @pawl_counter,
                                 0, 0, 0, '', p_label, '');
END
