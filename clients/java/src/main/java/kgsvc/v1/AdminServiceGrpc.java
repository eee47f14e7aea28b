package kgsvc.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AdminServiceGrpc {

  private AdminServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "kgsvc.v1.AdminService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.HealthcheckRequest,
      kgsvc.v1.HealthcheckResponse> getHealthcheckMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Healthcheck",
      requestType = kgsvc.v1.HealthcheckRequest.class,
      responseType = kgsvc.v1.HealthcheckResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.HealthcheckRequest,
      kgsvc.v1.HealthcheckResponse> getHealthcheckMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.HealthcheckRequest, kgsvc.v1.HealthcheckResponse> getHealthcheckMethod;
    if ((getHealthcheckMethod = AdminServiceGrpc.getHealthcheckMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getHealthcheckMethod = AdminServiceGrpc.getHealthcheckMethod) == null) {
          AdminServiceGrpc.getHealthcheckMethod = getHealthcheckMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.HealthcheckRequest, kgsvc.v1.HealthcheckResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Healthcheck"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.HealthcheckRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.HealthcheckResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("Healthcheck"))
              .build();
        }
      }
    }
    return getHealthcheckMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.DeleteEntityEdgeRequest,
      kgsvc.v1.DeleteEntityEdgeResponse> getDeleteEntityEdgeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteEntityEdge",
      requestType = kgsvc.v1.DeleteEntityEdgeRequest.class,
      responseType = kgsvc.v1.DeleteEntityEdgeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.DeleteEntityEdgeRequest,
      kgsvc.v1.DeleteEntityEdgeResponse> getDeleteEntityEdgeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.DeleteEntityEdgeRequest, kgsvc.v1.DeleteEntityEdgeResponse> getDeleteEntityEdgeMethod;
    if ((getDeleteEntityEdgeMethod = AdminServiceGrpc.getDeleteEntityEdgeMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteEntityEdgeMethod = AdminServiceGrpc.getDeleteEntityEdgeMethod) == null) {
          AdminServiceGrpc.getDeleteEntityEdgeMethod = getDeleteEntityEdgeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.DeleteEntityEdgeRequest, kgsvc.v1.DeleteEntityEdgeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteEntityEdge"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteEntityEdgeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteEntityEdgeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteEntityEdge"))
              .build();
        }
      }
    }
    return getDeleteEntityEdgeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.DeleteEpisodeRequest,
      kgsvc.v1.DeleteEpisodeResponse> getDeleteEpisodeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteEpisode",
      requestType = kgsvc.v1.DeleteEpisodeRequest.class,
      responseType = kgsvc.v1.DeleteEpisodeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.DeleteEpisodeRequest,
      kgsvc.v1.DeleteEpisodeResponse> getDeleteEpisodeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.DeleteEpisodeRequest, kgsvc.v1.DeleteEpisodeResponse> getDeleteEpisodeMethod;
    if ((getDeleteEpisodeMethod = AdminServiceGrpc.getDeleteEpisodeMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteEpisodeMethod = AdminServiceGrpc.getDeleteEpisodeMethod) == null) {
          AdminServiceGrpc.getDeleteEpisodeMethod = getDeleteEpisodeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.DeleteEpisodeRequest, kgsvc.v1.DeleteEpisodeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteEpisode"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteEpisodeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteEpisodeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteEpisode"))
              .build();
        }
      }
    }
    return getDeleteEpisodeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.DeleteGroupRequest,
      kgsvc.v1.DeleteGroupResponse> getDeleteGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteGroup",
      requestType = kgsvc.v1.DeleteGroupRequest.class,
      responseType = kgsvc.v1.DeleteGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.DeleteGroupRequest,
      kgsvc.v1.DeleteGroupResponse> getDeleteGroupMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.DeleteGroupRequest, kgsvc.v1.DeleteGroupResponse> getDeleteGroupMethod;
    if ((getDeleteGroupMethod = AdminServiceGrpc.getDeleteGroupMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteGroupMethod = AdminServiceGrpc.getDeleteGroupMethod) == null) {
          AdminServiceGrpc.getDeleteGroupMethod = getDeleteGroupMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.DeleteGroupRequest, kgsvc.v1.DeleteGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.DeleteGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteGroup"))
              .build();
        }
      }
    }
    return getDeleteGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.ClearAllRequest,
      kgsvc.v1.ClearAllResponse> getClearAllMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ClearAll",
      requestType = kgsvc.v1.ClearAllRequest.class,
      responseType = kgsvc.v1.ClearAllResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.ClearAllRequest,
      kgsvc.v1.ClearAllResponse> getClearAllMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.ClearAllRequest, kgsvc.v1.ClearAllResponse> getClearAllMethod;
    if ((getClearAllMethod = AdminServiceGrpc.getClearAllMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getClearAllMethod = AdminServiceGrpc.getClearAllMethod) == null) {
          AdminServiceGrpc.getClearAllMethod = getClearAllMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.ClearAllRequest, kgsvc.v1.ClearAllResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ClearAll"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ClearAllRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ClearAllResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ClearAll"))
              .build();
        }
      }
    }
    return getClearAllMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.UpdateFactRequest,
      kgsvc.v1.UpdateFactResponse> getUpdateFactMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateFact",
      requestType = kgsvc.v1.UpdateFactRequest.class,
      responseType = kgsvc.v1.UpdateFactResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.UpdateFactRequest,
      kgsvc.v1.UpdateFactResponse> getUpdateFactMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.UpdateFactRequest, kgsvc.v1.UpdateFactResponse> getUpdateFactMethod;
    if ((getUpdateFactMethod = AdminServiceGrpc.getUpdateFactMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getUpdateFactMethod = AdminServiceGrpc.getUpdateFactMethod) == null) {
          AdminServiceGrpc.getUpdateFactMethod = getUpdateFactMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.UpdateFactRequest, kgsvc.v1.UpdateFactResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateFact"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.UpdateFactRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.UpdateFactResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("UpdateFact"))
              .build();
        }
      }
    }
    return getUpdateFactMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.PutOntologyRequest,
      kgsvc.v1.PutOntologyResponse> getPutOntologyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutOntology",
      requestType = kgsvc.v1.PutOntologyRequest.class,
      responseType = kgsvc.v1.PutOntologyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.PutOntologyRequest,
      kgsvc.v1.PutOntologyResponse> getPutOntologyMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.PutOntologyRequest, kgsvc.v1.PutOntologyResponse> getPutOntologyMethod;
    if ((getPutOntologyMethod = AdminServiceGrpc.getPutOntologyMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPutOntologyMethod = AdminServiceGrpc.getPutOntologyMethod) == null) {
          AdminServiceGrpc.getPutOntologyMethod = getPutOntologyMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.PutOntologyRequest, kgsvc.v1.PutOntologyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutOntology"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.PutOntologyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.PutOntologyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PutOntology"))
              .build();
        }
      }
    }
    return getPutOntologyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetOntologyRequest,
      kgsvc.v1.GetOntologyResponse> getGetOntologyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetOntology",
      requestType = kgsvc.v1.GetOntologyRequest.class,
      responseType = kgsvc.v1.GetOntologyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetOntologyRequest,
      kgsvc.v1.GetOntologyResponse> getGetOntologyMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetOntologyRequest, kgsvc.v1.GetOntologyResponse> getGetOntologyMethod;
    if ((getGetOntologyMethod = AdminServiceGrpc.getGetOntologyMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetOntologyMethod = AdminServiceGrpc.getGetOntologyMethod) == null) {
          AdminServiceGrpc.getGetOntologyMethod = getGetOntologyMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetOntologyRequest, kgsvc.v1.GetOntologyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetOntology"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetOntologyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetOntologyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetOntology"))
              .build();
        }
      }
    }
    return getGetOntologyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.MergeEntityNodesRequest,
      kgsvc.v1.MergeEntityNodesResponse> getMergeEntityNodesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "MergeEntityNodes",
      requestType = kgsvc.v1.MergeEntityNodesRequest.class,
      responseType = kgsvc.v1.MergeEntityNodesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.MergeEntityNodesRequest,
      kgsvc.v1.MergeEntityNodesResponse> getMergeEntityNodesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.MergeEntityNodesRequest, kgsvc.v1.MergeEntityNodesResponse> getMergeEntityNodesMethod;
    if ((getMergeEntityNodesMethod = AdminServiceGrpc.getMergeEntityNodesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getMergeEntityNodesMethod = AdminServiceGrpc.getMergeEntityNodesMethod) == null) {
          AdminServiceGrpc.getMergeEntityNodesMethod = getMergeEntityNodesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.MergeEntityNodesRequest, kgsvc.v1.MergeEntityNodesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "MergeEntityNodes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.MergeEntityNodesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.MergeEntityNodesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("MergeEntityNodes"))
              .build();
        }
      }
    }
    return getMergeEntityNodesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.UndoMergeRequest,
      kgsvc.v1.UndoMergeResponse> getUndoMergeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UndoMerge",
      requestType = kgsvc.v1.UndoMergeRequest.class,
      responseType = kgsvc.v1.UndoMergeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.UndoMergeRequest,
      kgsvc.v1.UndoMergeResponse> getUndoMergeMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.UndoMergeRequest, kgsvc.v1.UndoMergeResponse> getUndoMergeMethod;
    if ((getUndoMergeMethod = AdminServiceGrpc.getUndoMergeMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getUndoMergeMethod = AdminServiceGrpc.getUndoMergeMethod) == null) {
          AdminServiceGrpc.getUndoMergeMethod = getUndoMergeMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.UndoMergeRequest, kgsvc.v1.UndoMergeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UndoMerge"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.UndoMergeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.UndoMergeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("UndoMerge"))
              .build();
        }
      }
    }
    return getUndoMergeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.BuildCommunitiesRequest,
      kgsvc.v1.BuildCommunitiesResponse> getBuildCommunitiesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BuildCommunities",
      requestType = kgsvc.v1.BuildCommunitiesRequest.class,
      responseType = kgsvc.v1.BuildCommunitiesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.BuildCommunitiesRequest,
      kgsvc.v1.BuildCommunitiesResponse> getBuildCommunitiesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.BuildCommunitiesRequest, kgsvc.v1.BuildCommunitiesResponse> getBuildCommunitiesMethod;
    if ((getBuildCommunitiesMethod = AdminServiceGrpc.getBuildCommunitiesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getBuildCommunitiesMethod = AdminServiceGrpc.getBuildCommunitiesMethod) == null) {
          AdminServiceGrpc.getBuildCommunitiesMethod = getBuildCommunitiesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.BuildCommunitiesRequest, kgsvc.v1.BuildCommunitiesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BuildCommunities"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.BuildCommunitiesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.BuildCommunitiesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("BuildCommunities"))
              .build();
        }
      }
    }
    return getBuildCommunitiesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.GetCommunityBuildRequest,
      kgsvc.v1.GetCommunityBuildResponse> getGetCommunityBuildMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCommunityBuild",
      requestType = kgsvc.v1.GetCommunityBuildRequest.class,
      responseType = kgsvc.v1.GetCommunityBuildResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.GetCommunityBuildRequest,
      kgsvc.v1.GetCommunityBuildResponse> getGetCommunityBuildMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.GetCommunityBuildRequest, kgsvc.v1.GetCommunityBuildResponse> getGetCommunityBuildMethod;
    if ((getGetCommunityBuildMethod = AdminServiceGrpc.getGetCommunityBuildMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetCommunityBuildMethod = AdminServiceGrpc.getGetCommunityBuildMethod) == null) {
          AdminServiceGrpc.getGetCommunityBuildMethod = getGetCommunityBuildMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.GetCommunityBuildRequest, kgsvc.v1.GetCommunityBuildResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCommunityBuild"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetCommunityBuildRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.GetCommunityBuildResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetCommunityBuild"))
              .build();
        }
      }
    }
    return getGetCommunityBuildMethod;
  }

  private static volatile io.grpc.MethodDescriptor<kgsvc.v1.ListCommunitiesRequest,
      kgsvc.v1.ListCommunitiesResponse> getListCommunitiesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListCommunities",
      requestType = kgsvc.v1.ListCommunitiesRequest.class,
      responseType = kgsvc.v1.ListCommunitiesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<kgsvc.v1.ListCommunitiesRequest,
      kgsvc.v1.ListCommunitiesResponse> getListCommunitiesMethod() {
    io.grpc.MethodDescriptor<kgsvc.v1.ListCommunitiesRequest, kgsvc.v1.ListCommunitiesResponse> getListCommunitiesMethod;
    if ((getListCommunitiesMethod = AdminServiceGrpc.getListCommunitiesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListCommunitiesMethod = AdminServiceGrpc.getListCommunitiesMethod) == null) {
          AdminServiceGrpc.getListCommunitiesMethod = getListCommunitiesMethod =
              io.grpc.MethodDescriptor.<kgsvc.v1.ListCommunitiesRequest, kgsvc.v1.ListCommunitiesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListCommunities"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ListCommunitiesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  kgsvc.v1.ListCommunitiesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListCommunities"))
              .build();
        }
      }
    }
    return getListCommunitiesMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AdminServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub>() {
        @java.lang.Override
        public AdminServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceStub(channel, callOptions);
        }
      };
    return AdminServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AdminServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub>() {
        @java.lang.Override
        public AdminServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AdminServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AdminServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub>() {
        @java.lang.Override
        public AdminServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingStub(channel, callOptions);
        }
      };
    return AdminServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AdminServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub>() {
        @java.lang.Override
        public AdminServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceFutureStub(channel, callOptions);
        }
      };
    return AdminServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Says whether the service can answer. Status OK.
     * </pre>
     */
    default void healthcheck(kgsvc.v1.HealthcheckRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.HealthcheckResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHealthcheckMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes one fact. Status OK.
     * </pre>
     */
    default void deleteEntityEdge(kgsvc.v1.DeleteEntityEdgeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEntityEdgeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteEntityEdgeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes one episode and its mentions; facts and entities read from it stay. Status OK.
     * </pre>
     */
    default void deleteEpisode(kgsvc.v1.DeleteEpisodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEpisodeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteEpisodeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes all of a group: episodes, then facts, then entities. Status OK.
     * </pre>
     */
    default void deleteGroup(kgsvc.v1.DeleteGroupRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes every group. Status OK.
     * </pre>
     */
    default void clearAll(kgsvc.v1.ClearAllRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ClearAllResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getClearAllMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces a fact softly: the old one expires, a new one takes over its episodes. Status OK or NOT_FOUND.
     * </pre>
     */
    default void updateFact(kgsvc.v1.UpdateFactRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.UpdateFactResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateFactMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the entity and fact types of a group; episodes extracted from then on follow them. Status OK.
     * </pre>
     */
    default void putOntology(kgsvc.v1.PutOntologyRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.PutOntologyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutOntologyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads the entity and fact types in force for a group. Status OK.
     * </pre>
     */
    default void getOntology(kgsvc.v1.GetOntologyRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetOntologyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetOntologyMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes one entity of two: facts, mentions and names go over. Status OK or NOT_FOUND.
     * </pre>
     */
    default void mergeEntityNodes(kgsvc.v1.MergeEntityNodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.MergeEntityNodesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getMergeEntityNodesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes a merge back. Status OK, NOT_FOUND, or CONFLICT where the name was given away since.
     * </pre>
     */
    default void undoMerge(kgsvc.v1.UndoMergeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.UndoMergeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUndoMergeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Begins to find the communities of groups, in the background. Status ACCEPTED.
     * </pre>
     */
    default void buildCommunities(kgsvc.v1.BuildCommunitiesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.BuildCommunitiesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBuildCommunitiesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Says how far a build of communities is. Status OK or NOT_FOUND.
     * </pre>
     */
    default void getCommunityBuild(kgsvc.v1.GetCommunityBuildRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetCommunityBuildResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCommunityBuildMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the communities of a group, a page a call. Status OK.
     * </pre>
     */
    default void listCommunities(kgsvc.v1.ListCommunitiesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ListCommunitiesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListCommunitiesMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AdminService.
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public static abstract class AdminServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AdminServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AdminService.
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public static final class AdminServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AdminServiceStub> {
    private AdminServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Says whether the service can answer. Status OK.
     * </pre>
     */
    public void healthcheck(kgsvc.v1.HealthcheckRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.HealthcheckResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getHealthcheckMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes one fact. Status OK.
     * </pre>
     */
    public void deleteEntityEdge(kgsvc.v1.DeleteEntityEdgeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEntityEdgeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteEntityEdgeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes one episode and its mentions; facts and entities read from it stay. Status OK.
     * </pre>
     */
    public void deleteEpisode(kgsvc.v1.DeleteEpisodeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEpisodeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteEpisodeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes all of a group: episodes, then facts, then entities. Status OK.
     * </pre>
     */
    public void deleteGroup(kgsvc.v1.DeleteGroupRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.DeleteGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes every group. Status OK.
     * </pre>
     */
    public void clearAll(kgsvc.v1.ClearAllRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ClearAllResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getClearAllMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces a fact softly: the old one expires, a new one takes over its episodes. Status OK or NOT_FOUND.
     * </pre>
     */
    public void updateFact(kgsvc.v1.UpdateFactRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.UpdateFactResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateFactMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the entity and fact types of a group; episodes extracted from then on follow them. Status OK.
     * </pre>
     */
    public void putOntology(kgsvc.v1.PutOntologyRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.PutOntologyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutOntologyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads the entity and fact types in force for a group. Status OK.
     * </pre>
     */
    public void getOntology(kgsvc.v1.GetOntologyRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetOntologyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetOntologyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes one entity of two: facts, mentions and names go over. Status OK or NOT_FOUND.
     * </pre>
     */
    public void mergeEntityNodes(kgsvc.v1.MergeEntityNodesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.MergeEntityNodesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getMergeEntityNodesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes a merge back. Status OK, NOT_FOUND, or CONFLICT where the name was given away since.
     * </pre>
     */
    public void undoMerge(kgsvc.v1.UndoMergeRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.UndoMergeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUndoMergeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Begins to find the communities of groups, in the background. Status ACCEPTED.
     * </pre>
     */
    public void buildCommunities(kgsvc.v1.BuildCommunitiesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.BuildCommunitiesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBuildCommunitiesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Says how far a build of communities is. Status OK or NOT_FOUND.
     * </pre>
     */
    public void getCommunityBuild(kgsvc.v1.GetCommunityBuildRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.GetCommunityBuildResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCommunityBuildMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the communities of a group, a page a call. Status OK.
     * </pre>
     */
    public void listCommunities(kgsvc.v1.ListCommunitiesRequest request,
        io.grpc.stub.StreamObserver<kgsvc.v1.ListCommunitiesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListCommunitiesMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AdminService.
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public static final class AdminServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingV2Stub> {
    private AdminServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Says whether the service can answer. Status OK.
     * </pre>
     */
    public kgsvc.v1.HealthcheckResponse healthcheck(kgsvc.v1.HealthcheckRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getHealthcheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes one fact. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteEntityEdgeResponse deleteEntityEdge(kgsvc.v1.DeleteEntityEdgeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteEntityEdgeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes one episode and its mentions; facts and entities read from it stay. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteEpisodeResponse deleteEpisode(kgsvc.v1.DeleteEpisodeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteEpisodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes all of a group: episodes, then facts, then entities. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteGroupResponse deleteGroup(kgsvc.v1.DeleteGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes every group. Status OK.
     * </pre>
     */
    public kgsvc.v1.ClearAllResponse clearAll(kgsvc.v1.ClearAllRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getClearAllMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces a fact softly: the old one expires, a new one takes over its episodes. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.UpdateFactResponse updateFact(kgsvc.v1.UpdateFactRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateFactMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the entity and fact types of a group; episodes extracted from then on follow them. Status OK.
     * </pre>
     */
    public kgsvc.v1.PutOntologyResponse putOntology(kgsvc.v1.PutOntologyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutOntologyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the entity and fact types in force for a group. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetOntologyResponse getOntology(kgsvc.v1.GetOntologyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetOntologyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes one entity of two: facts, mentions and names go over. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.MergeEntityNodesResponse mergeEntityNodes(kgsvc.v1.MergeEntityNodesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getMergeEntityNodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes a merge back. Status OK, NOT_FOUND, or CONFLICT where the name was given away since.
     * </pre>
     */
    public kgsvc.v1.UndoMergeResponse undoMerge(kgsvc.v1.UndoMergeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUndoMergeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Begins to find the communities of groups, in the background. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.BuildCommunitiesResponse buildCommunities(kgsvc.v1.BuildCommunitiesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBuildCommunitiesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says how far a build of communities is. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetCommunityBuildResponse getCommunityBuild(kgsvc.v1.GetCommunityBuildRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCommunityBuildMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the communities of a group, a page a call. Status OK.
     * </pre>
     */
    public kgsvc.v1.ListCommunitiesResponse listCommunities(kgsvc.v1.ListCommunitiesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListCommunitiesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AdminService.
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public static final class AdminServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingStub> {
    private AdminServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Says whether the service can answer. Status OK.
     * </pre>
     */
    public kgsvc.v1.HealthcheckResponse healthcheck(kgsvc.v1.HealthcheckRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getHealthcheckMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes one fact. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteEntityEdgeResponse deleteEntityEdge(kgsvc.v1.DeleteEntityEdgeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteEntityEdgeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes one episode and its mentions; facts and entities read from it stay. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteEpisodeResponse deleteEpisode(kgsvc.v1.DeleteEpisodeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteEpisodeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes all of a group: episodes, then facts, then entities. Status OK.
     * </pre>
     */
    public kgsvc.v1.DeleteGroupResponse deleteGroup(kgsvc.v1.DeleteGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes every group. Status OK.
     * </pre>
     */
    public kgsvc.v1.ClearAllResponse clearAll(kgsvc.v1.ClearAllRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getClearAllMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces a fact softly: the old one expires, a new one takes over its episodes. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.UpdateFactResponse updateFact(kgsvc.v1.UpdateFactRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateFactMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the entity and fact types of a group; episodes extracted from then on follow them. Status OK.
     * </pre>
     */
    public kgsvc.v1.PutOntologyResponse putOntology(kgsvc.v1.PutOntologyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutOntologyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads the entity and fact types in force for a group. Status OK.
     * </pre>
     */
    public kgsvc.v1.GetOntologyResponse getOntology(kgsvc.v1.GetOntologyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetOntologyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes one entity of two: facts, mentions and names go over. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.MergeEntityNodesResponse mergeEntityNodes(kgsvc.v1.MergeEntityNodesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getMergeEntityNodesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes a merge back. Status OK, NOT_FOUND, or CONFLICT where the name was given away since.
     * </pre>
     */
    public kgsvc.v1.UndoMergeResponse undoMerge(kgsvc.v1.UndoMergeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUndoMergeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Begins to find the communities of groups, in the background. Status ACCEPTED.
     * </pre>
     */
    public kgsvc.v1.BuildCommunitiesResponse buildCommunities(kgsvc.v1.BuildCommunitiesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBuildCommunitiesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says how far a build of communities is. Status OK or NOT_FOUND.
     * </pre>
     */
    public kgsvc.v1.GetCommunityBuildResponse getCommunityBuild(kgsvc.v1.GetCommunityBuildRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCommunityBuildMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the communities of a group, a page a call. Status OK.
     * </pre>
     */
    public kgsvc.v1.ListCommunitiesResponse listCommunities(kgsvc.v1.ListCommunitiesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListCommunitiesMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AdminService.
   * <pre>
   * Says how the service is, corrects what it knows, and deletes for good. Deleting what is not there is OK.
   * </pre>
   */
  public static final class AdminServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AdminServiceFutureStub> {
    private AdminServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Says whether the service can answer. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.HealthcheckResponse> healthcheck(
        kgsvc.v1.HealthcheckRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getHealthcheckMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes one fact. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.DeleteEntityEdgeResponse> deleteEntityEdge(
        kgsvc.v1.DeleteEntityEdgeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteEntityEdgeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes one episode and its mentions; facts and entities read from it stay. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.DeleteEpisodeResponse> deleteEpisode(
        kgsvc.v1.DeleteEpisodeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteEpisodeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes all of a group: episodes, then facts, then entities. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.DeleteGroupResponse> deleteGroup(
        kgsvc.v1.DeleteGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes every group. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.ClearAllResponse> clearAll(
        kgsvc.v1.ClearAllRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getClearAllMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces a fact softly: the old one expires, a new one takes over its episodes. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.UpdateFactResponse> updateFact(
        kgsvc.v1.UpdateFactRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateFactMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the entity and fact types of a group; episodes extracted from then on follow them. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.PutOntologyResponse> putOntology(
        kgsvc.v1.PutOntologyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutOntologyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads the entity and fact types in force for a group. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetOntologyResponse> getOntology(
        kgsvc.v1.GetOntologyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetOntologyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes one entity of two: facts, mentions and names go over. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.MergeEntityNodesResponse> mergeEntityNodes(
        kgsvc.v1.MergeEntityNodesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getMergeEntityNodesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes a merge back. Status OK, NOT_FOUND, or CONFLICT where the name was given away since.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.UndoMergeResponse> undoMerge(
        kgsvc.v1.UndoMergeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUndoMergeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Begins to find the communities of groups, in the background. Status ACCEPTED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.BuildCommunitiesResponse> buildCommunities(
        kgsvc.v1.BuildCommunitiesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBuildCommunitiesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Says how far a build of communities is. Status OK or NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.GetCommunityBuildResponse> getCommunityBuild(
        kgsvc.v1.GetCommunityBuildRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCommunityBuildMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the communities of a group, a page a call. Status OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<kgsvc.v1.ListCommunitiesResponse> listCommunities(
        kgsvc.v1.ListCommunitiesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListCommunitiesMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_HEALTHCHECK = 0;
  private static final int METHODID_DELETE_ENTITY_EDGE = 1;
  private static final int METHODID_DELETE_EPISODE = 2;
  private static final int METHODID_DELETE_GROUP = 3;
  private static final int METHODID_CLEAR_ALL = 4;
  private static final int METHODID_UPDATE_FACT = 5;
  private static final int METHODID_PUT_ONTOLOGY = 6;
  private static final int METHODID_GET_ONTOLOGY = 7;
  private static final int METHODID_MERGE_ENTITY_NODES = 8;
  private static final int METHODID_UNDO_MERGE = 9;
  private static final int METHODID_BUILD_COMMUNITIES = 10;
  private static final int METHODID_GET_COMMUNITY_BUILD = 11;
  private static final int METHODID_LIST_COMMUNITIES = 12;

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
        case METHODID_HEALTHCHECK:
          serviceImpl.healthcheck((kgsvc.v1.HealthcheckRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.HealthcheckResponse>) responseObserver);
          break;
        case METHODID_DELETE_ENTITY_EDGE:
          serviceImpl.deleteEntityEdge((kgsvc.v1.DeleteEntityEdgeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEntityEdgeResponse>) responseObserver);
          break;
        case METHODID_DELETE_EPISODE:
          serviceImpl.deleteEpisode((kgsvc.v1.DeleteEpisodeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.DeleteEpisodeResponse>) responseObserver);
          break;
        case METHODID_DELETE_GROUP:
          serviceImpl.deleteGroup((kgsvc.v1.DeleteGroupRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.DeleteGroupResponse>) responseObserver);
          break;
        case METHODID_CLEAR_ALL:
          serviceImpl.clearAll((kgsvc.v1.ClearAllRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.ClearAllResponse>) responseObserver);
          break;
        case METHODID_UPDATE_FACT:
          serviceImpl.updateFact((kgsvc.v1.UpdateFactRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.UpdateFactResponse>) responseObserver);
          break;
        case METHODID_PUT_ONTOLOGY:
          serviceImpl.putOntology((kgsvc.v1.PutOntologyRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.PutOntologyResponse>) responseObserver);
          break;
        case METHODID_GET_ONTOLOGY:
          serviceImpl.getOntology((kgsvc.v1.GetOntologyRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetOntologyResponse>) responseObserver);
          break;
        case METHODID_MERGE_ENTITY_NODES:
          serviceImpl.mergeEntityNodes((kgsvc.v1.MergeEntityNodesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.MergeEntityNodesResponse>) responseObserver);
          break;
        case METHODID_UNDO_MERGE:
          serviceImpl.undoMerge((kgsvc.v1.UndoMergeRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.UndoMergeResponse>) responseObserver);
          break;
        case METHODID_BUILD_COMMUNITIES:
          serviceImpl.buildCommunities((kgsvc.v1.BuildCommunitiesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.BuildCommunitiesResponse>) responseObserver);
          break;
        case METHODID_GET_COMMUNITY_BUILD:
          serviceImpl.getCommunityBuild((kgsvc.v1.GetCommunityBuildRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.GetCommunityBuildResponse>) responseObserver);
          break;
        case METHODID_LIST_COMMUNITIES:
          serviceImpl.listCommunities((kgsvc.v1.ListCommunitiesRequest) request,
              (io.grpc.stub.StreamObserver<kgsvc.v1.ListCommunitiesResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getHealthcheckMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.HealthcheckRequest,
              kgsvc.v1.HealthcheckResponse>(
                service, METHODID_HEALTHCHECK)))
        .addMethod(
          getDeleteEntityEdgeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.DeleteEntityEdgeRequest,
              kgsvc.v1.DeleteEntityEdgeResponse>(
                service, METHODID_DELETE_ENTITY_EDGE)))
        .addMethod(
          getDeleteEpisodeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.DeleteEpisodeRequest,
              kgsvc.v1.DeleteEpisodeResponse>(
                service, METHODID_DELETE_EPISODE)))
        .addMethod(
          getDeleteGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.DeleteGroupRequest,
              kgsvc.v1.DeleteGroupResponse>(
                service, METHODID_DELETE_GROUP)))
        .addMethod(
          getClearAllMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.ClearAllRequest,
              kgsvc.v1.ClearAllResponse>(
                service, METHODID_CLEAR_ALL)))
        .addMethod(
          getUpdateFactMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.UpdateFactRequest,
              kgsvc.v1.UpdateFactResponse>(
                service, METHODID_UPDATE_FACT)))
        .addMethod(
          getPutOntologyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.PutOntologyRequest,
              kgsvc.v1.PutOntologyResponse>(
                service, METHODID_PUT_ONTOLOGY)))
        .addMethod(
          getGetOntologyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetOntologyRequest,
              kgsvc.v1.GetOntologyResponse>(
                service, METHODID_GET_ONTOLOGY)))
        .addMethod(
          getMergeEntityNodesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.MergeEntityNodesRequest,
              kgsvc.v1.MergeEntityNodesResponse>(
                service, METHODID_MERGE_ENTITY_NODES)))
        .addMethod(
          getUndoMergeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.UndoMergeRequest,
              kgsvc.v1.UndoMergeResponse>(
                service, METHODID_UNDO_MERGE)))
        .addMethod(
          getBuildCommunitiesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.BuildCommunitiesRequest,
              kgsvc.v1.BuildCommunitiesResponse>(
                service, METHODID_BUILD_COMMUNITIES)))
        .addMethod(
          getGetCommunityBuildMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.GetCommunityBuildRequest,
              kgsvc.v1.GetCommunityBuildResponse>(
                service, METHODID_GET_COMMUNITY_BUILD)))
        .addMethod(
          getListCommunitiesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              kgsvc.v1.ListCommunitiesRequest,
              kgsvc.v1.ListCommunitiesResponse>(
                service, METHODID_LIST_COMMUNITIES)))
        .build();
  }

  private static abstract class AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AdminServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return kgsvc.v1.AdminProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AdminService");
    }
  }

  private static final class AdminServiceFileDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier {
    AdminServiceFileDescriptorSupplier() {}
  }

  private static final class AdminServiceMethodDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AdminServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (AdminServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AdminServiceFileDescriptorSupplier())
              .addMethod(getHealthcheckMethod())
              .addMethod(getDeleteEntityEdgeMethod())
              .addMethod(getDeleteEpisodeMethod())
              .addMethod(getDeleteGroupMethod())
              .addMethod(getClearAllMethod())
              .addMethod(getUpdateFactMethod())
              .addMethod(getPutOntologyMethod())
              .addMethod(getGetOntologyMethod())
              .addMethod(getMergeEntityNodesMethod())
              .addMethod(getUndoMergeMethod())
              .addMethod(getBuildCommunitiesMethod())
              .addMethod(getGetCommunityBuildMethod())
              .addMethod(getListCommunitiesMethod())
              .build();
        }
      }
    }
    return result;
  }
}
