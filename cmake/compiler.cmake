# How everything of ours is compiled: standard, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# The compilers that every change is built with: newer ones know other warnings.
set(knows_no_other_warnings OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  set(knows_no_other_warnings ON)
elseif(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^16\\.")
  set(knows_no_other_warnings ON)
endif()
option(PAWL_WERROR "A warning is an error" ${knows_no_other_warnings})

set(pawl_compile_options -Wall -Wextra)
if(PAWL_WERROR)
  list(APPEND pawl_compile_options -Werror)
endif()
# Everywhere, not only in libraries: so one precompiled header serves libraries and programs.
list(APPEND pawl_compile_options -fPIC)
# An assert names its file as it is called in the sources, wherever they are.
list(APPEND pawl_compile_options -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes a coroutine frame's operator delete for the wrong one.
  list(APPEND pawl_compile_options -Wno-mismatched-new-delete)
  # ... and sees overflows where std::string joins literals (GCC PR105651); clang and ASan look there, too.
  list(APPEND pawl_compile_options -Wno-array-bounds -Wno-restrict -Wno-stringop-overread)
  if(PAWL_UNITY)
    # It takes a source for a header where another source includes it.
    list(APPEND pawl_compile_options -Wno-subobject-linkage)
  endif()
  if(PAWL_SANITIZE MATCHES "thread")
    # GCC's TSan does not see atomic_thread_fence, and says so for every one in Asio.
    list(APPEND pawl_compile_options -Wno-tsan)
  endif()
endif()

if(PAWL_SANITIZE)
  add_compile_options(-fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PAWL_SANITIZE})
endif()

find_program(PAWL_CCACHE ccache)
if(PAWL_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache needs to be told to work with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${PAWL_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND pawl_compile_options -fpch-preprocess)
  else()
    list(APPEND pawl_compile_options "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# Our own way of compiling, for a target of ours; nothing of it reaches those who link the library. PCH names the target
# whose precompiled header it uses: pawl_asio, if none is given.
function(pawl_compile target)
  cmake_parse_arguments(arg "" "PCH" "" ${ARGN})
  if(NOT arg_PCH)
    set(arg_PCH pawl_asio)
  endif()
  target_compile_options(${target} PRIVATE ${pawl_compile_options})
  # No other macro of Asio's: some change what its functions return, and a program that uses Asio with and without them
  # in one link mixes both.
  target_compile_definitions(
    ${target} PRIVATE BOOST_ASIO_SEPARATE_COMPILATION
                      $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Boost::headers> fmt::fmt Threads::Threads)
  if(PAWL_UNITY)
    # By folder, as they are sorted by their paths. Not larger: two cores want something to do to the end.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(NOT arg_PCH STREQUAL target)
    target_precompile_headers(${target} REUSE_FROM ${arg_PCH})
  endif()
endfunction()
