package kgsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class IngestionServiceGrpc {

  private IngestionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "kgsvc.v1.IngestionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.AddMessagesRequest,
      kgsvc.v1.AddMessagesResponse> getAddMessagesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddMessages",
      requestType = kgsvc.v1.AddMessagesRequest.class,
      responseType = kgsvc.v1.AddMessagesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.AddMessagesRequest,
      kgsvc.v1.AddMessagesResponse> getAddMessagesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.AddMessagesRequest, kgsvc.v1.AddMessagesResponse> getAddMessagesMethod;
    if ((getAddMessagesMethod = IngestionServiceGrpc.getAddMessagesMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getAddMessagesMethod = IngestionServiceGrpc.getAddMessagesMethod) == null) {
          IngestionServiceGrpc.getAddMessagesMethod = getAddMessagesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.AddMessagesRequest, kgsvc.v1.AddMessagesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddMessages"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddMessagesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddMessagesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("AddMessages"))
              .build();
        }
      }
    }
    return getAddMessagesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.AddEpisodesRequest,
      kgsvc.v1.AddEpisodesResponse> getAddEpisodesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddEpisodes",
      requestType = kgsvc.v1.AddEpisodesRequest.class,
      responseType = kgsvc.v1.AddEpisodesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.AddEpisodesRequest,
      kgsvc.v1.AddEpisodesResponse> getAddEpisodesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.AddEpisodesRequest, kgsvc.v1.AddEpisodesResponse> getAddEpisodesMethod;
    if ((getAddEpisodesMethod = IngestionServiceGrpc.getAddEpisodesMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getAddEpisodesMethod = IngestionServiceGrpc.getAddEpisodesMethod) == null) {
          IngestionServiceGrpc.getAddEpisodesMethod = getAddEpisodesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.AddEpisodesRequest, kgsvc.v1.AddEpisodesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddEpisodes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddEpisodesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddEpisodesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("AddEpisodes"))
              .build();
        }
      }
    }
    return getAddEpisodesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.AddEntityNodeRequest,
      kgsvc.v1.AddEntityNodeResponse> getAddEntityNodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AddEntityNode",
      requestType = kgsvc.v1.AddEntityNodeRequest.class,
      responseType = kgsvc.v1.AddEntityNodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.AddEntityNodeRequest,
      kgsvc.v1.AddEntityNodeResponse> getAddEntityNodeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.AddEntityNodeRequest, kgsvc.v1.AddEntityNodeResponse> getAddEntityNodeMethod;
    if ((getAddEntityNodeMethod = IngestionServiceGrpc.getAddEntityNodeMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getAddEntityNodeMethod = IngestionServiceGrpc.getAddEntityNodeMethod) == null) {
          IngestionServiceGrpc.getAddEntityNodeMethod = getAddEntityNodeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.AddEntityNodeRequest, kgsvc.v1.AddEntityNodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AddEntityNode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddEntityNodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.AddEntityNodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("AddEntityNode"))
              .build();
        }
      }
    }
    return getAddEntityNodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.StreamEpisodesRequest,
      kgsvc.v1.StreamEpisodesResponse> getStreamEpisodesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StreamEpisodes",
      requestType = kgsvc.v1.StreamEpisodesRequest.class,
      responseType = kgsvc.v1.StreamEpisodesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<kgsvc.v1.StreamEpisodesRequest,
      kgsvc.v1.StreamEpisodesResponse> getStreamEpisodesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.StreamEpisodesRequest, kgsvc.v1.StreamEpisodesResponse> getStreamEpisodesMethod;
    if ((getStreamEpisodesMethod = IngestionServiceGrpc.getStreamEpisodesMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getStreamEpisodesMethod = IngestionServiceGrpc.getStreamEpisodesMethod) == null) {
          IngestionServiceGrpc.getStreamEpisodesMethod = getStreamEpisodesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.StreamEpisodesRequest, kgsvc.v1.StreamEpisodesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StreamEpisodes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.StreamEpisodesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.StreamEpisodesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("StreamEpisodes"))
              .build();
        }
      }
    }
    return getStreamEpisodesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetReceiptRequest,
      kgsvc.v1.GetReceiptResponse> getGetReceiptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetReceipt",
      requestType = kgsvc.v1.GetReceiptRequest.class,
      responseType = kgsvc.v1.GetReceiptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetReceiptRequest,
      kgsvc.v1.GetReceiptResponse> getGetReceiptMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetReceiptRequest, kgsvc.v1.GetReceiptResponse> getGetReceiptMethod;
    if ((getGetReceiptMethod = IngestionServiceGrpc.getGetReceiptMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getGetReceiptMethod = IngestionServiceGrpc.getGetReceiptMethod) == null) {
          IngestionServiceGrpc.getGetReceiptMethod = getGetReceiptMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetReceiptRequest, kgsvc.v1.GetReceiptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetReceipt"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetReceiptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetReceiptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("GetReceipt"))
              .build();
        }
      }
    }
    return getGetReceiptMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.WatchReceiptRequest,
      kgsvc.v1.WatchReceiptResponse> getWatchReceiptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchReceipt",
      requestType = kgsvc.v1.WatchReceiptRequest.class,
      responseType = kgsvc.v1.WatchReceiptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<kgsvc.v1.WatchReceiptRequest,
      kgsvc.v1.WatchReceiptResponse> getWatchReceiptMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.WatchReceiptRequest, kgsvc.v1.WatchReceiptResponse> getWatchReceiptMethod;
    if ((getWatchReceiptMethod = IngestionServiceGrpc.getWatchReceiptMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getWatchReceiptMethod = IngestionServiceGrpc.getWatchReceiptMethod) == null) {
          IngestionServiceGrpc.getWatchReceiptMethod = getWatchReceiptMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.WatchReceiptRequest, kgsvc.v1.WatchReceiptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchReceipt"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.WatchReceiptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.WatchReceiptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("WatchReceipt"))
              .build();
        }
      }
    }
    return getWatchReceiptMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.ListItemsRequest,
      kgsvc.v1.ListItemsResponse> getListItemsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListItems",
      requestType = kgsvc.v1.ListItemsRequest.class,
      responseType = kgsvc.v1.ListItemsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.ListItemsRequest,
      kgsvc.v1.ListItemsResponse> getListItemsMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.ListItemsRequest, kgsvc.v1.ListItemsResponse> getListItemsMethod;
    if ((getListItemsMethod = IngestionServiceGrpc.getListItemsMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getListItemsMethod = IngestionServiceGrpc.getListItemsMethod) == null) {
          IngestionServiceGrpc.getListItemsMethod = getListItemsMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.ListItemsRequest, kgsvc.v1.ListItemsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListItems"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ListItemsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ListItemsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("ListItems"))
              .build();
        }
      }
    }
    return getListItemsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.RetryItemsRequest,
      kgsvc.v1.RetryItemsResponse> getRetryItemsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RetryItems",
      requestType = kgsvc.v1.RetryItemsRequest.class,
      responseType = kgsvc.v1.RetryItemsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.RetryItemsRequest,
      kgsvc.v1.RetryItemsResponse> getRetryItemsMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.RetryItemsRequest, kgsvc.v1.RetryItemsResponse> getRetryItemsMethod;
    if ((getRetryItemsMethod = IngestionServiceGrpc.getRetryItemsMethod) == null) {
      synchronized (IngestionServiceGrpc.class) {
        if ((getRetryItemsMethod = IngestionServiceGrpc.getRetryItemsMethod) == null) {
          IngestionServiceGrpc.getRetryItemsMethod = getRetryItemsMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.RetryItemsRequest, kgsvc.v1.RetryItemsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RetryItems"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.RetryItemsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.RetryItemsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestionServiceMethodDescriptorSupplier("RetryItems"))
              .build();
        }
      }
    }
    return getRetryItemsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static IngestionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestionServiceStub>() {
        @java.lang.Override
        public IngestionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestionServiceStub(channel, callOptions);
        }
      };
    return IngestionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static IngestionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestionServiceBlockingV2Stub>() {
        @java.lang.Override
        public IngestionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return IngestionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static IngestionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestionServiceBlockingStub>() {
        @java.lang.Override
        public IngestionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestionServiceBlockingStub(channel, callOptions);
        }
      };
    return IngestionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static IngestionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestionServiceFutureStub>() {
        @java.lang.Override
        public IngestionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestionServiceFutureStub(channel, callOptions);
        }
      };
    return IngestionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Accepts messages of a conversation, all or none. Status ACCEPTED.
     * </pre>
     */
    default void addMessages(kgsvc.v1.AddMessagesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddMessagesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddMessagesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Accepts episodes, all or none. Status ACCEPTED.
     * </pre>
     */
    default void addEpisodes(kgsvc.v1.AddEpisodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddEpisodesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddEpisodesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Creates an entity or updates it: absent fields keep, given attributes replace. Status OK; CONFLICT when
     * another entity of the group owns the name.
     * </pre>
     */
    default void addEntityNode(kgsvc.v1.AddEntityNodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddEntityNodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAddEntityNodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Accepts one item a message and acknowledges each only after it is stored durably, in the order received.
     * A client that sends faster than items can be stored is slowed down. A fault of the service ends the stream
     * with a gRPC status; what was not acknowledged may then be sent again.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<kgsvc.v1.StreamEpisodesRequest> streamEpisodes(
        io.grpc.stub.StreamObserver<kgsvc.v1.StreamEpisodesResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getStreamEpisodesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the state of each item of a receipt. Status OK or NOT_FOUND.
     * </pre>
     */
    default void getReceipt(kgsvc.v1.GetReceiptRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetReceiptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetReceiptMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sends the state of all items of a receipt, then those that change; ends when all are terminal.
     * </pre>
     */
    default void watchReceipt(kgsvc.v1.WatchReceiptRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.WatchReceiptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchReceiptMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists items by group and state, a page a call; parked ones with their reason.
     * </pre>
     */
    default void listItems(kgsvc.v1.ListItemsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ListItemsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListItemsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets parked items back to ACCEPTED with fresh attempts. Items that are not parked are left alone.
     * </pre>
     */
    default void retryItems(kgsvc.v1.RetryItemsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.RetryItemsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRetryItemsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service IngestionService.
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public static abstract class IngestionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return IngestionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service IngestionService.
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public static final class IngestionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<IngestionServiceStub> {
    private IngestionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts messages of a conversation, all or none. Status ACCEPTED.
     * </pre>
     */
    public void addMessages(kgsvc.v1.AddMessagesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddMessagesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddMessagesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Accepts episodes, all or none. Status ACCEPTED.
     * </pre>
     */
    public void addEpisodes(kgsvc.v1.AddEpisodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddEpisodesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddEpisodesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Creates an entity or updates it: absent fields keep, given attributes replace. Status OK; CONFLICT when
     * another entity of the group owns the name.
     * </pre>
     */
    public void addEntityNode(kgsvc.v1.AddEntityNodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.AddEntityNodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAddEntityNodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Accepts one item a message and acknowledges each only after it is stored durably, in the order received.
     * A client that sends faster than items can be stored is slowed down. A fault of the service ends the stream
     * with a gRPC status; what was not acknowledged may then be sent again.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<kgsvc.v1.StreamEpisodesRequest> streamEpisodes(
        io.grpc.stub.StreamObserver<kgsvc.v1.StreamEpisodesResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getStreamEpisodesMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Reads the state of each item of a receipt. Status OK or NOT_FOUND.
     * </pre>
     */
    public void getReceipt(kgsvc.v1.GetReceiptRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetReceiptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetReceiptMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sends the state of all items of a receipt, then those that change; ends when all are terminal.
     * </pre>
     */
    public void watchReceipt(kgsvc.v1.WatchReceiptRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.WatchReceiptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchReceiptMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists items by group and state, a page a call; parked ones with their reason.
     * </pre>
     */
    public void listItems(kgsvc.v1.ListItemsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ListItemsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListItemsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets parked items back to ACCEPTED with fresh attempts. Items that are not parked are left alone.
     * </pre>
     */
    public void retryItems(kgsvc.v1.RetryItemsRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.RetryItemsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRetryItemsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service IngestionService.
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public static final class IngestionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<IngestionServiceBlockingV2Stub> {
    private IngestionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts messages of a conversation, all or none. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.AddMessagesResponse addMessages(kgsvc.v1.AddMessagesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Accepts episodes, all or none. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.AddEpisodesResponse addEpisodes(kgsvc.v1.AddEpisodesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddEpisodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates an entity or updates it: absent fields keep, given attributes replace. Status OK; CONFLICT when
     * another entity of the group owns the name.
     * </pre>
     */
    public kgsvc.v1.AddEntityNodeResponse addEntityNode(kgsvc.v1.AddEntityNodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAddEntityNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Accepts one item a message and acknowledges each only after it is stored durably, in the order received.
     * A client that sends faster than items can be stored is slowed down. A fault of the service ends the stream
     * with a gRPC status; what was not acknowledged may then be sent again.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<kgsvc.v1.StreamEpisodesRequest, kgsvc.v1.StreamEpisodesResponse>
        streamEpisodes() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getStreamEpisodesMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Reads the state of each item of a receipt. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetReceiptResponse getReceipt(kgsvc.v1.GetReceiptRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the state of all items of a receipt, then those that change; ends when all are terminal.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, kgsvc.v1.WatchReceiptResponse>
        watchReceipt(kgsvc.v1.WatchReceiptRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists items by group and state, a page a call; parked ones with their reason.
     * </pre>
     */
    public kgsvc.v1.ListItemsResponse listItems(kgsvc.v1.ListItemsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListItemsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets parked items back to ACCEPTED with fresh attempts. Items that are not parked are left alone.
     * </pre>
     */
    public kgsvc.v1.RetryItemsResponse retryItems(kgsvc.v1.RetryItemsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRetryItemsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service IngestionService.
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public static final class IngestionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<IngestionServiceBlockingStub> {
    private IngestionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts messages of a conversation, all or none. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.AddMessagesResponse addMessages(kgsvc.v1.AddMessagesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddMessagesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Accepts episodes, all or none. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.AddEpisodesResponse addEpisodes(kgsvc.v1.AddEpisodesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddEpisodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Creates an entity or updates it: absent fields keep, given attributes replace. Status OK; CONFLICT when
     * another entity of the group owns the name.
     * </pre>
     */
    public kgsvc.v1.AddEntityNodeResponse addEntityNode(kgsvc.v1.AddEntityNodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAddEntityNodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the state of each item of a receipt. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetReceiptResponse getReceipt(kgsvc.v1.GetReceiptRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sends the state of all items of a receipt, then those that change; ends when all are terminal.
     * </pre>
     */
    public java.util.Iterator<kgsvc.v1.WatchReceiptResponse> watchReceipt(
        kgsvc.v1.WatchReceiptRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchReceiptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists items by group and state, a page a call; parked ones with their reason.
     * </pre>
     */
    public kgsvc.v1.ListItemsResponse listItems(kgsvc.v1.ListItemsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListItemsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets parked items back to ACCEPTED with fresh attempts. Items that are not parked are left alone.
     * </pre>
     */
    public kgsvc.v1.RetryItemsResponse retryItems(kgsvc.v1.RetryItemsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRetryItemsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service IngestionService.
   * <pre>
   * Takes messages, episodes and entities, keeps every accepted one durably, and says how far each has come.
   * </pre>
   */
  public static final class IngestionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<IngestionServiceFutureStub> {
    private IngestionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts messages of a conversation, all or none. Status ACCEPTED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.AddMessagesResponse> addMessages(
        kgsvc.v1.AddMessagesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddMessagesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Accepts episodes, all or none. Status ACCEPTED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.AddEpisodesResponse> addEpisodes(
        kgsvc.v1.AddEpisodesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddEpisodesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Creates an entity or updates it: absent fields keep, given attributes replace. Status OK; CONFLICT when
     * another entity of the group owns the name.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.AddEntityNodeResponse> addEntityNode(
        kgsvc.v1.AddEntityNodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAddEntityNodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the state of each item of a receipt. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetReceiptResponse> getReceipt(
        kgsvc.v1.GetReceiptRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetReceiptMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists items by group and state, a page a call; parked ones with their reason.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.ListItemsResponse> listItems(
        kgsvc.v1.ListItemsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListItemsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets parked items back to ACCEPTED with fresh attempts. Items that are not parked are left alone.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.RetryItemsResponse> retryItems(
        kgsvc.v1.RetryItemsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRetryItemsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ADD_MESSAGES = 0;
  private static final int METHODID_ADD_EPISODES = 1;
  private static final int METHODID_ADD_ENTITY_NODE = 2;
  private static final int METHODID_GET_RECEIPT = 3;
  private static final int METHODID_WATCH_RECEIPT = 4;
  private static final int METHODID_LIST_ITEMS = 5;
  private static final int METHODID_RETRY_ITEMS = 6;
  private static final int METHODID_STREAM_EPISODES = 7;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_ADD_MESSAGES:
          serviceImpl.addMessages((kgsvc.v1.AddMessagesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.AddMessagesResponse>) responseObserver);
          break;
        case METHODID_ADD_EPISODES:
          serviceImpl.addEpisodes((kgsvc.v1.AddEpisodesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.AddEpisodesResponse>) responseObserver);
          break;
        case METHODID_ADD_ENTITY_NODE:
          serviceImpl.addEntityNode((kgsvc.v1.AddEntityNodeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.AddEntityNodeResponse>) responseObserver);
          break;
        case METHODID_GET_RECEIPT:
          serviceImpl.getReceipt((kgsvc.v1.GetReceiptRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetReceiptResponse>) responseObserver);
          break;
        case METHODID_WATCH_RECEIPT:
          serviceImpl.watchReceipt((kgsvc.v1.WatchReceiptRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.WatchReceiptResponse>) responseObserver);
          break;
        case METHODID_LIST_ITEMS:
          serviceImpl.listItems((kgsvc.v1.ListItemsRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.ListItemsResponse>) responseObserver);
          break;
        case METHODID_RETRY_ITEMS:
          serviceImpl.retryItems((kgsvc.v1.RetryItemsRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.RetryItemsResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_STREAM_EPISODES:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.streamEpisodes(
              (io.grpc.stub.StreamObserver<kgsvc.v1.StreamEpisodesResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAddMessagesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.AddMessagesRequest,
              kgsvc.v1.AddMessagesResponse>(
                service, METHODID_ADD_MESSAGES)))
        .addMethod(
          getAddEpisodesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.AddEpisodesRequest,
              kgsvc.v1.AddEpisodesResponse>(
                service, METHODID_ADD_EPISODES)))
        .addMethod(
          getAddEntityNodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.AddEntityNodeRequest,
              kgsvc.v1.AddEntityNodeResponse>(
                service, METHODID_ADD_ENTITY_NODE)))
        .addMethod(
          getStreamEpisodesMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              kgsvc.v1.StreamEpisodesRequest,
              kgsvc.v1.StreamEpisodesResponse>(
                service, METHODID_STREAM_EPISODES)))
        .addMethod(
          getGetReceiptMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetReceiptRequest,
              kgsvc.v1.GetReceiptResponse>(
                service, METHODID_GET_RECEIPT)))
        .addMethod(
          getWatchReceiptMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              kgsvc.v1.WatchReceiptRequest,
              kgsvc.v1.WatchReceiptResponse>(
                service, METHODID_WATCH_RECEIPT)))
        .addMethod(
          getListItemsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.ListItemsRequest,
              kgsvc.v1.ListItemsResponse>(
                service, METHODID_LIST_ITEMS)))
        .addMethod(
          getRetryItemsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.RetryItemsRequest,
              kgsvc.v1.RetryItemsResponse>(
                service, METHODID_RETRY_ITEMS)))
        .build();
  }

  private static abstract class IngestionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    IngestionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return kgsvc.v1.IngestionProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("IngestionService");
    }
  }

  private static final class IngestionServiceFileDescriptorSupplier
      extends IngestionServiceBaseDescriptorSupplier {
    IngestionServiceFileDescriptorSupplier() {}
  }

  private static final class IngestionServiceMethodDescriptorSupplier
      extends IngestionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    IngestionServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (IngestionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new IngestionServiceFileDescriptorSupplier())
              .addMethod(getAddMessagesMethod())
              .addMethod(getAddEpisodesMethod())
              .addMethod(getAddEntityNodeMethod())
              .addMethod(getStreamEpisodesMethod())
              .addMethod(getGetReceiptMethod())
              .addMethod(getWatchReceiptMethod())
              .addMethod(getListItemsMethod())
              .addMethod(getRetryItemsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
