// Asio's own code, once, because of BOOST_ASIO_SEPARATE_COMPILATION.
#include <boost/asio/impl/src.hpp>
#ifdef PAWL_NET
#include <boost/asio/ssl/impl/src.hpp>
#endif
