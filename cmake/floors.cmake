# GCC 12's -Wrestrict sees overlaps in std::string that are not there (GCC bug 105651).
# Its std::stable_sort calls what C++17 deprecates, which Clang says of every use.
set(smelt_warnings -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                   $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations> $<$<BOOL:${SMELT_WERROR}>:-Werror>)

# GCC collects garbage from a heap of 128 MB on, which the units outgrow many times over: a tenth of the time to compile.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)

# smelt_source_folder(SOURCE): its folder below the project's, in the variable `folder` of the caller.
function(smelt_source_folder source)
  get_filename_component(source ${source} ABSOLUTE)
  get_filename_component(folder ${source} DIRECTORY)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
  set(folder ${folder} PARENT_SCOPE)
endfunction()

# With CMAKE_UNITY_BUILD all sources of a folder are one for the compiler: which files share a batch, and so which names they may
# not both define, changes only with the folder itself.
function(smelt_unity_by_folder target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    smelt_source_folder(${source})
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# smelt_keep_folders(VARIABLE): of a list of sources, those in SMELT_FOLDERS and those that are compiled by themselves; and, in
# the variable `others` of the caller, the folders of the rest.
function(smelt_keep_folders variable)
  set(others "")
  foreach(source IN LISTS ${variable})
    smelt_source_folder(${source})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(SMELT_FOLDERS AND NOT alone AND NOT folder IN_LIST SMELT_FOLDERS)
      list(REMOVE_ITEM ${variable} ${source})
      list(APPEND others ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES others)
  set(others ${others} PARENT_SCOPE)
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# smelt_add_objects(TARGET FOLDER...): the folders' objects of the build SMELT_OBJECTS.
function(smelt_add_objects target)
  foreach(folder IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set(object ${SMELT_OBJECTS}/CMakeFiles/${target}.dir/Unity/unity_${group}_cxx.cxx.o)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON)
    target_sources(${target} PRIVATE ${object})
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# smelt_floor(NAME [ON floor...] [LINKS library...]): the static library smelt_NAME from all of NAME/*.cpp.
# It may include and link only the floors it stands ON (tests/floors_test checks the includes too).
function(smelt_floor name)
  cmake_parse_arguments(floor "" "" "ON;LINKS;PRECOMPILE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$|/compiler/python/")
  if(NOT SMELT_CPU)
    list(FILTER sources EXCLUDE REGEX "/codegen/cpu/")
  endif()
  if(NOT SMELT_SERVER)
    list(FILTER sources EXCLUDE REGEX "/compiler/(server/|cli/commands/(serve[a-z_]*|watch)\\.cpp)")
  endif()
  smelt_keep_folders(sources)
  if(NOT sources AND NOT others)
    add_library(smelt_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(smelt_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(smelt_${name} PRIVATE ${smelt_warnings})
    if(sources)
      smelt_precompile(smelt_${name} ${floor_PRECOMPILE})
      smelt_unity_by_folder(smelt_${name})
    endif()
    smelt_add_objects(smelt_${name} ${others})
  endif()
  target_include_directories(smelt_${name} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<INSTALL_INTERFACE:include/smelt>)
  target_link_libraries(smelt_${name} ${scope} ${floor_LINKS})
  foreach(below IN LISTS floor_ON)
    target_link_libraries(smelt_${name} ${scope} smelt_${below})
  endforeach()
endfunction()
