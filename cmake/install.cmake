# What an application needs: headers, the static library, a CMake package and a pkg-config file. `--component runtime`
# installs just that, without the compiler.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers for applications, and all that these include.
set(public_headers
    runtime/engine/generation/generator.h runtime/engine/generation/sampling.h runtime/engine/serving/continuous_batch.h
    runtime/engine/training/loss_curve.h runtime/engine/training/trainer.h runtime/engine/weights/initialize.h
    runtime/plan/plan_file.h runtime/ranks/mesh_ranks.h runtime/smelt.h runtime/system/log.h runtime/tokenizers/tokenizer.h)
set(unread ${public_headers})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"runtime/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included ${include})
    if(NOT included IN_LIST public_headers)
      list(APPEND public_headers ${included})
      list(APPEND unread ${included})
    endif()
  endforeach()
endwhile()

file(STRINGS ${PROJECT_SOURCE_DIR}/runtime/smelt.h version_line REGEX "define SMELT_VERSION")
if(NOT version_line MATCHES "\"${PROJECT_VERSION}\"")
  message(FATAL_ERROR "runtime/smelt.h says ${version_line}, CMakeLists.txt ${PROJECT_VERSION}")
endif()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)
install(TARGETS smelt_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS smelt_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
# `--component compiler` adds the compiler as a library.
install(TARGETS smelt_compiler_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler
                                              NAMELINK_COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/compiler/c_api/smelt_compile.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/compiler/c_api COMPONENT compiler)
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/${folder} COMPONENT runtime)
endforeach()

get_filename_component(OPENBLAS_DIRECTORY ${OPENBLAS_LIBRARY} DIRECTORY)
get_filename_component(TEXT_DIRECTORY ${PCRE2_LIBRARY} DIRECTORY)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/smeltConfig.cmake.in ${PROJECT_BINARY_DIR}/smeltConfig.cmake
                              INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake COMPATIBILITY ${compatible})
install(FILES ${PROJECT_BINARY_DIR}/smeltConfig.cmake ${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT runtime)

# What a package of SMELT_STATIC brings along, so that applications need no other package.
if(SMELT_STATIC)
  include(${CMAKE_CURRENT_LIST_DIR}/licenses.cmake)
  foreach(library OPENBLAS PCRE2 UTF8PROC)
    file(REAL_PATH ${${library}_LIBRARY} archive)
    get_filename_component(name ${${library}_LIBRARY} NAME)
    install(FILES ${archive} RENAME ${name} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  endforeach()
  install(FILES ${OPENMP_FILE} RENAME libgomp.so.1 DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  get_target_property(fmt_headers fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  install(DIRECTORY ${fmt_headers}/fmt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt COMPONENT runtime)
  smelt_install_licenses(share/smelt/licenses runtime)
  set(pc_requires "")
  set(pc_libraries -lopenblas -lpcre2-8 -lutf8proc)
  set(pc_definitions -DFMT_HEADER_ONLY)
else()
  set(pc_requires fmt libpcre2-8 libutf8proc)
  set(pc_libraries ${OPENBLAS_LIBRARY})
  set(pc_definitions "")
endif()
list(JOIN pc_requires " " pc_requires)
list(JOIN pc_libraries " " pc_libraries)

# ${pcfiledir} keeps the tree movable.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/smelt.pc.in ${PROJECT_BINARY_DIR}/smelt.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/libsmelt.pc.in ${PROJECT_BINARY_DIR}/libsmelt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smelt.pc ${PROJECT_BINARY_DIR}/libsmelt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
