# GCC 12's -Wrestrict sees overlaps in std::string that are not there (GCC bug 105651).
set(smelt_warnings -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${SMELT_WERROR}>:-Werror>)

# smelt_floor(NAME [ON floor...] [LINKS library...]): the static library smelt_NAME from all of NAME/*.cpp.
# It may include and link only the floors it stands ON (tests/floors_test checks the includes too).
function(smelt_floor name)
  cmake_parse_arguments(floor "" "" "ON;LINKS;PRECOMPILE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT SMELT_CPU)
    list(FILTER sources EXCLUDE REGEX "/codegen/llvm/")
  endif()
  if(NOT sources)
    add_library(smelt_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(smelt_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(smelt_${name} PRIVATE ${smelt_warnings})
    smelt_precompile(smelt_${name} ${floor_PRECOMPILE})
  endif()
  target_include_directories(smelt_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<INSTALL_INTERFACE:include/smelt>)
  target_link_libraries(smelt_${name} ${scope} ${floor_LINKS})
  foreach(below IN LISTS floor_ON)
    target_link_libraries(smelt_${name} ${scope} smelt_${below})
  endforeach()
endfunction()
