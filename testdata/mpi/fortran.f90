! Calls MPI as Fortran programs do, with 2 ranks, and prints how often it calls what. BINDING is the module to
! use: mpi, or mpi_f08, where handles have types of their own and the error may be left out (E is empty then).
! Rank 0 is late with messages, and prints how long rank 1 was in MPI_Recv. MPICH is defined for MPICH 4.0,
! where MPI_Waitany of mpi_f08 does not tell the status, and MPI_Put puts nothing.
program calls
  use BINDING
  implicit none
  HANDLE(MPI_Comm) :: half
  HANDLE(MPI_Request) :: r(2)
  HANDLE(MPI_Win) :: win
  STATUS :: s
  integer :: me, n, other, i, place, err, number, got(2), sum, counts(2), places(2)
  integer, target, save :: window(2)
  integer(kind=MPI_ADDRESS_KIND) :: size
  logical :: flag
  real(8) :: entered, spent
  call MPI_Init(E1)
  call MPI_Comm_rank(MPI_COMM_WORLD, me E)
  call MPI_Comm_size(MPI_COMM_WORLD, n E)
  other = 1 - me

  ! Late senders: rank 1 waits.
  spent = 0
  do i = 1, 5
    call MPI_Barrier(MPI_COMM_WORLD E)
    entered = MPI_Wtime()
    if (me == 0) then
      do while (MPI_Wtime() < entered + 0.01)
      end do
      call MPI_Send(me, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD E)
    else
      call MPI_Recv(got, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE E)
    end if
    spent = spent + MPI_Wtime() - entered
  end do
  call MPI_Bcast(spent, 1, MPI_DOUBLE_PRECISION, 1, MPI_COMM_WORLD E)

  ! Every way to wait.
  do i = 1, 5
    call MPI_Irecv(got, 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, r(1) E)
    call MPI_Isend(me, 1, MPI_INTEGER, other, i, MPI_COMM_WORLD, r(2) E)
    select case (i)
    case (1)
      call MPI_Wait(r(1), s E)
      call MPI_Wait(r(2), MPI_STATUS_IGNORE E)
    case (2)
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE E)
    case (3)
      place = 1
#ifdef MPICH
      call MPI_Wait(r(1), s E)
#else
      call MPI_Waitany(2, r, place, s E)
#endif
      call MPI_Wait(r(3 - place), s E)
    case (4)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(2, r, flag, MPI_STATUSES_IGNORE E)
      end do
    case (5)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(r(1), flag, s E)
      end do
      call MPI_Wait(r(2), s E)
    end select
    if (got(1) /= other) stop 1
  end do
  call MPI_Sendrecv(me, 1, MPI_INTEGER, other, 6, got, 1, MPI_INTEGER, other, 6, MPI_COMM_WORLD, s E)
  call MPI_Send_init(me, 1, MPI_INTEGER, other, 7, MPI_COMM_WORLD, r(1) E)
  call MPI_Recv_init(got, 1, MPI_INTEGER, other, 7, MPI_COMM_WORLD, r(2) E)
  do i = 1, 2
    call MPI_Startall(2, r E)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE E)
  end do
  call MPI_Request_free(r(1) E)
  call MPI_Request_free(r(2) E)

  ! Collectives.
  call MPI_Barrier(MPI_COMM_WORLD E)
  number = me + 1
  call MPI_Allreduce(number, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD E)
  if (sum /= 3) stop 2
  got(me + 1) = number
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 1, MPI_INTEGER, MPI_COMM_WORLD E)
  if (any(got /= (/ 1, 2 /))) stop 3
  counts = 1
  places = (/ 0, 1 /)
  call MPI_Gatherv(number, 1, MPI_INTEGER, got, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD E)
  call MPI_Iallreduce(number, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, r(1) E)
  call MPI_Wait(r(1), MPI_STATUS_IGNORE E)
  call MPI_Comm_split(MPI_COMM_WORLD, me, 0, half E)
  call MPI_Bcast(number, 1, MPI_INTEGER, 0, half E)

  ! One-sided.
  window = 0
  size = 8
  call MPI_Win_create(window, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win E)
  call MPI_Win_fence(0, win E)
  size = me
  call MPI_Put(number, 1, MPI_INTEGER, 0, size, 1, MPI_INTEGER, win E)
  call MPI_Win_fence(0, win E)
#ifndef MPICH
  if (me == 0 .and. any(window /= (/ 1, 2 /))) stop 4
#endif
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win E)
  call MPI_Win_unlock(1, win E)
  call MPI_Win_free(win E)

  if (me == 0) then
    print '(a,i0)', 'MPI_Recv, ns ', int(spent * 1d9, 8)
#ifdef MPICH
    print '(a)', 'MPI_Wait 12'
#else
    print '(a)', 'MPI_Wait 10', 'MPI_Waitany 2'
#endif
    print '(a)', 'MPI_Send 5', 'MPI_Recv 5', 'MPI_Isend 10', 'MPI_Irecv 10', 'MPI_Waitall 6', &
      'MPI_Sendrecv 2', 'MPI_Startall 4', 'MPI_Request_free 4', 'MPI_Barrier 12', 'MPI_Allreduce 2', &
      'MPI_Allgather 2', 'MPI_Gatherv 2', 'MPI_Iallreduce 2', 'MPI_Comm_split 2', &
      'MPI_Bcast 4', 'MPI_Win_create 2', 'MPI_Win_fence 4', 'MPI_Put 2', &
      'MPI_Win_lock 2', 'MPI_Win_unlock 2', 'MPI_Win_free 2'
  end if
  call MPI_Finalize(E1)
end program
