// Asio's own code, once, because of BOOST_ASIO_SEPARATE_COMPILATION.
#include <boost/asio/impl/src.hpp>
