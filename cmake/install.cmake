# `cmake --install`: the library, its headers, the command line, and what find_package(pawl) reads.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(TARGETS pawl EXPORT pawl-targets FILE_SET HEADERS)
install(EXPORT pawl-targets NAMESPACE pawl:: DESTINATION ${package_dir})
if(TARGET pawl-cli)
  install(TARGETS pawl-cli)
  install(FILES docs/pawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES apps/cli/completion/pawl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pawl)
  install(FILES apps/cli/completion/_pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES apps/cli/completion/pawl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

configure_package_config_file(cmake/pawl-config.cmake.in pawl-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
        DESTINATION ${package_dir})
