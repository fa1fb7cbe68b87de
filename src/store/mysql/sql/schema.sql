-- The tables of the `queue` scheme and of <pawl/mysql.hpp>, layout 3. Statements end with a semicolon at the end of a line.
-- All ids are hex text; all times are microseconds since 1970 by the server's clock. Whoever changes claims or locks has the
-- row of pawl_meta locked first, so no two transactions wait for each other.

-- One row. clock: the latest time seen, to notice a clock that was set back.
CREATE TABLE IF NOT EXISTS pawl_meta (
  id TINYINT NOT NULL PRIMARY KEY,
  layout INT NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  identity VARBINARY(512) NOT NULL,
  started BIGINT NOT NULL,
  store VARBINARY(16) NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  clock BIGINT NOT NULL
) ENGINE = InnoDB;

-- mailbox: by which name its client listens. ends: when its time is over, all ignore it and what it left behind. lease: 0: that was
-- seen, and it is not renewed any more. The row stays until all that it left behind is swept.
CREATE TABLE IF NOT EXISTS pawl_session (
  id VARBINARY(32) NOT NULL PRIMARY KEY,
  lease BIGINT NOT NULL,
  ends BIGINT NOT NULL,
  mailbox VARBINARY(32) NOT NULL,
  host BLOB NOT NULL,
  pid BIGINT NOT NULL,
  label BLOB NOT NULL,
  KEY by_end (ends)
) ENGINE = InnoDB;

-- A lock that is held, waited for, or in lock-delay. taken: of a semaphore, a 1 for each permit in use and a 0 for each that
-- is free.
CREATE TABLE IF NOT EXISTS pawl_lock (
  id VARBINARY(255) NOT NULL PRIMARY KEY,
  name BLOB NOT NULL,
  permits INT UNSIGNED NOT NULL,
  used INT UNSIGNED NOT NULL,
  taken MEDIUMBLOB NOT NULL
) ENGINE = InnoDB;

-- state: 0 waits, 1 holds, 2 failed and keeps the lock shut until `until`; then it has no session any more.
CREATE TABLE IF NOT EXISTS pawl_claim (
  id VARBINARY(32) NOT NULL PRIMARY KEY,
  session VARBINARY(32) NOT NULL,
  lock_id VARBINARY(255) NOT NULL,
  state TINYINT NOT NULL,
  shared TINYINT NOT NULL,
  wanted INT UNSIGNED NOT NULL,
  delay BIGINT NOT NULL,
  since BIGINT NOT NULL,
  until BIGINT NULL,
  ticket BIGINT UNSIGNED NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  asked TINYINT NOT NULL,
  slots MEDIUMBLOB NOT NULL,
  label BLOB NOT NULL,
  value BLOB NOT NULL,
  KEY by_lock (lock_id, state, ticket),
  KEY by_session (session),
  KEY by_end (until)
) ENGINE = InnoDB;

-- Claims that were withdrawn or taken away, and may still arrive.
CREATE TABLE IF NOT EXISTS pawl_tombstone (
  session VARBINARY(32) NOT NULL,
  claim VARBINARY(32) NOT NULL,
  PRIMARY KEY (session, claim)
) ENGINE = InnoDB;

-- Notices for claims, until the claim has asked again. what: again, granted, contended, asked, gone.
CREATE TABLE IF NOT EXISTS pawl_mail (
  seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  mailbox VARBINARY(32) NOT NULL,
  session VARBINARY(32) NOT NULL,
  claim VARBINARY(32) NOT NULL,
  what VARBINARY(16) NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  contended TINYINT NOT NULL,
  KEY by_mailbox (mailbox, seq),
  KEY by_claim (session, claim)
) ENGINE = InnoDB;

-- Who has led an election: the last 32, and for a minute after the last one has gone. till: 0 while it leads.
CREATE TABLE IF NOT EXISTS pawl_reign (
  lock_id VARBINARY(255) NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  counter BIGINT UNSIGNED NOT NULL,
  since BIGINT NOT NULL,
  till BIGINT NOT NULL,
  host BLOB NOT NULL,
  pid BIGINT NOT NULL,
  label BLOB NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (lock_id, epoch, counter),
  KEY by_end (till)
) ENGINE = InnoDB;

-- Locks that a claim has left and that were not looked at since, or not to the end.
CREATE TABLE IF NOT EXISTS pawl_unsettled (
  lock_id VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- Locks whose holders still have to be told that others wait: those behind this ticket.
CREATE TABLE IF NOT EXISTS pawl_untold (
  lock_id VARBINARY(255) NOT NULL PRIMARY KEY,
  ticket BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB;

-- `unique`: who has a lock. The unique index lets one in.
CREATE TABLE IF NOT EXISTS pawl_unique (
  lock_name VARBINARY(255) NOT NULL,
  claim VARBINARY(32) NOT NULL,
  UNIQUE KEY by_name (lock_name)
) ENGINE = InnoDB;

-- `version`: each change of a lock raises its version. claim: who has it; empty: it is free.
CREATE TABLE IF NOT EXISTS pawl_version (
  lock_name VARBINARY(255) NOT NULL PRIMARY KEY,
  version BIGINT UNSIGNED NOT NULL,
  claim VARBINARY(32) NOT NULL
) ENGINE = InnoDB;

-- `for-update`: a row for each lock that was ever used.
CREATE TABLE IF NOT EXISTS pawl_for_update (
  lock_name VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- Of <pawl/mysql.hpp>: a row for each name that lock_row() locks. They stay: a row that comes and goes invites deadlocks.
CREATE TABLE IF NOT EXISTS pawl_row (
  id VARBINARY(255) NOT NULL PRIMARY KEY,
  name BLOB NOT NULL
) ENGINE = InnoDB;

-- Counts the tokens of rows. It is empty, but for transactions that have one.
CREATE TABLE IF NOT EXISTS pawl_row_token (
  counter BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY
) ENGINE = InnoDB;

-- Epoch and store of pawl_meta, for the transactions of callers: they must not lock that one, which everything else needs.
CREATE TABLE IF NOT EXISTS pawl_row_epoch (
  id TINYINT NOT NULL PRIMARY KEY,
  epoch BIGINT UNSIGNED NOT NULL,
  store VARBINARY(16) NOT NULL
) ENGINE = InnoDB;
