cimport cython
from hearth_api.struct_layout cimport FieldLayout, StructLayout, layout_of

cdef object _INT8, _INT16, _INT32, _INT64, _FLOAT32, _FLOAT64, _BOOLEAN, _STRING, _BYTES, _ARRAY, _MAP, _STRUCT

@cython.locals(struct=Struct, made=list)
cpdef structs(schema, rows)

@cython.locals(struct=Struct)
cpdef rows_of(values, nothing)

@cython.locals(struct=Struct)
cpdef schemas_of(values)

cdef class Struct:
    cdef public object schema
    cdef StructLayout _layout
    cdef public list _values

    @cython.locals(place=FieldLayout)
    cpdef put(self, field, value)
    @cython.locals(place=FieldLayout)
    cpdef get(self, field)
    cpdef _fit(self, name, value)
    cpdef _put_all(self, values)
    cdef _unknown(self, name)
    cdef _members(self)
    cpdef get_int8(self, name)
    cpdef get_int16(self, name)
    cpdef get_int32(self, name)
    cpdef get_int64(self, name)
    cpdef get_float32(self, name)
    cpdef get_float64(self, name)
    cpdef get_boolean(self, name)
    cpdef get_string(self, name)
    cpdef get_bytes(self, name)
    cpdef get_array(self, name)
    cpdef get_map(self, name)
    cpdef get_struct(self, name)
    cpdef get_without_default(self, field)
    @cython.locals(place=FieldLayout)
    cdef _get_typed(self, name, type_)
    cpdef validate(self)
    cpdef bint _is_lasting(self)
    cpdef _take(self, schema, list values)

@cython.locals(struct=Struct)
cdef _validate(FieldLayout place, value)
