/* files.h wraps input and output. Part of mpi.c. */

WSM_PLAIN(MPI_File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
          (comm, name, mode, info, file))
WSM_PLAIN(MPI_File_close, (MPI_File *file), (file))
WSM_PLAIN(MPI_File_sync, (MPI_File file), (file))
WSM_PLAIN(MPI_File_set_view, (MPI_File file, MPI_Offset at, MPI_Datatype unit, MPI_Datatype type,
          const char *representation, MPI_Info info), (file, at, unit, type, representation, info))

#define WSM_READ(NAME) \
    WSM_PLAIN(NAME, (MPI_File file, void *buf, int count, MPI_Datatype type, MPI_Status *status), \
              (file, buf, count, type, status))
#define WSM_WRITE(NAME) \
    WSM_PLAIN(NAME, (MPI_File file, const void *buf, int count, MPI_Datatype type, MPI_Status *status), \
              (file, buf, count, type, status))

WSM_READ(MPI_File_read)
WSM_READ(MPI_File_read_all)
WSM_READ(MPI_File_read_shared)
WSM_READ(MPI_File_read_ordered)
WSM_WRITE(MPI_File_write)
WSM_WRITE(MPI_File_write_all)
WSM_WRITE(MPI_File_write_shared)
WSM_WRITE(MPI_File_write_ordered)
WSM_PLAIN(MPI_File_read_at, (MPI_File file, MPI_Offset at, void *buf, int count, MPI_Datatype type,
          MPI_Status *status), (file, at, buf, count, type, status))
WSM_PLAIN(MPI_File_read_at_all, (MPI_File file, MPI_Offset at, void *buf, int count, MPI_Datatype type,
          MPI_Status *status), (file, at, buf, count, type, status))
WSM_PLAIN(MPI_File_write_at, (MPI_File file, MPI_Offset at, const void *buf, int count, MPI_Datatype type,
          MPI_Status *status), (file, at, buf, count, type, status))
WSM_PLAIN(MPI_File_write_at_all, (MPI_File file, MPI_Offset at, const void *buf, int count, MPI_Datatype type,
          MPI_Status *status), (file, at, buf, count, type, status))
