#pragma once

/// Everything a program needs for distributed locks; `<pawl/asio.hpp>` and `<pawl/testing.hpp>` are apart.

#include <pawl/client.hpp>
#include <pawl/concepts.hpp>
#include <pawl/election.hpp>
#include <pawl/error.hpp>
#include <pawl/fence.hpp>
#include <pawl/hold.hpp>
#include <pawl/lock_view.hpp>
#include <pawl/metrics.hpp>
#include <pawl/multi_lock.hpp>
#include <pawl/mutex.hpp>
#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/result.hpp>
#include <pawl/semaphore.hpp>
#include <pawl/sequencer.hpp>
#include <pawl/shared_mutex.hpp>
#include <pawl/token.hpp>
#include <pawl/version.hpp>
